package pump

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"srpump/pump/config"
)

// refusePlugins refuses programs in Python by name: a flow that left one out would do something
// else than it was configured for.
func refusePlugins(c *config.Config) error {
	var errs []error
	for _, option := range slices.Sorted(maps.Keys(c.Unknown)) {
		if !isHook(option) {
			continue
		}
		for _, value := range c.Unknown[option] {
			if strings.HasSuffix(strings.TrimSpace(value), ".py") {
				errs = append(errs, fmt.Errorf("cannot use %s %q: it is a plugin in Python; "+
					"make a program of it and run it behind this command, on the output of -outlet json", option, value))
			}
		}
	}
	return errors.Join(errs...)
}

// isHook reports whether v02 runs what this option names.
func isHook(option string) bool {
	return strings.HasPrefix(option, "on_") || strings.HasPrefix(option, "do_") || option == "plugin" || option == "destfn_script"
}
