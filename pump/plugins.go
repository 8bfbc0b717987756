package pump

import (
	"errors"
	"fmt"
	"strings"

	"srpump/pump/config"
)

// refusePlugins refuses programs in Python by name, unless plugin_missing is ignore: a flow that left
// one out would do something else than it was configured for.
func refusePlugins(c *config.Config) error {
	if c.Values.String("plugin_missing") == "ignore" {
		return nil
	}
	var errs []error
	for _, o := range config.Table() {
		if o.Section != config.SectionHook || o.Kind != config.KindList {
			continue
		}
		for _, name := range c.Values.List(o.Name) {
			if strings.HasSuffix(name, ".py") {
				errs = append(errs, about(o.Name, fmt.Errorf("cannot use %s %q: it is a plugin in Python; "+
					"make a program of it that reads the lines of -outlet json, or leave it out with plugin_missing ignore", o.Name, name)))
			}
		}
	}
	return errors.Join(errs...)
}
