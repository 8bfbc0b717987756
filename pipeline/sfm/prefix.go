package sfm

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// A Prefix is what the beginning of a path in messages is here: requesters have other mounts.
type Prefix struct{ Message, Local string }

// ParsePrefix reads PREFIX=PATH.
func ParsePrefix(text string) (Prefix, error) {
	from, to, ok := strings.Cut(text, "=")
	if !ok || !path.IsAbs(from) || !filepath.IsAbs(to) {
		return Prefix{}, fmt.Errorf("%q is no prefix and path such as /sfm-data=/srv/sfm", text)
	}
	return Prefix{path.Clean(from), filepath.Clean(to)}, nil
}

// Prefixes are several.
type Prefixes []Prefix

// Local is where a path of a message is here: the longest prefix counts.
func (all Prefixes) Local(name string) string {
	name = path.Clean(name)
	best := Prefix{}
	for _, p := range all {
		if (name == p.Message || strings.HasPrefix(name, strings.TrimSuffix(p.Message, "/")+"/")) && len(p.Message) >= len(best.Message) {
			best = p
		}
	}
	if best.Message == "" {
		return name
	}
	return filepath.Join(best.Local, strings.TrimPrefix(name, best.Message))
}
