package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Listed is one configuration file of a component.
type Listed struct {
	Name     string // without directory and extension
	Path     string
	Disabled bool // its name ends in .off
	Include  bool // a .inc, for others to read
	Site     bool // of the whole host
}

// List returns the configuration files of a component, sorted by name: those
// of the user, and those of the site unless the user has one of the same name.
// Hidden files and what has no known extension are left out. A missing
// directory holds nothing.
func List(env Env, preset Preset) ([]Listed, error) {
	own, err := listDir(filepath.Join(env.ConfigDir(), preset.String()))
	if err != nil {
		return nil, err
	}
	site, err := listDir(filepath.Join(env.SiteDir(), preset.String()))
	if err != nil {
		return nil, err
	}
	for _, s := range site {
		s.Site = true
		if !slices.ContainsFunc(own, func(o Listed) bool { return o.Name == s.Name && o.Include == s.Include && !o.Disabled }) {
			own = append(own, s)
		}
	}
	slices.SortStableFunc(own, func(a, b Listed) int { return strings.Compare(a.Name, b.Name) })
	return own, nil
}

func listDir(dir string) ([]Listed, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the configurations in %q: %w", dir, plain(err))
	}
	var out []Listed
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if l, ok := listed(e.Name()); ok && isFile(path) {
			l.Path = path
			out = append(out, l)
		}
	}
	return out, nil
}

// listed reads x.conf, x.inc, and both with .off behind; x.off alone is what
// some versions of v02 made of x.conf.
func listed(file string) (Listed, bool) {
	base, off := strings.CutSuffix(file, ".off")
	name, conf := strings.CutSuffix(base, ".conf")
	inc := false
	if !conf {
		name, inc = strings.CutSuffix(base, ".inc")
	}
	if !conf && !inc && !off || CheckName(name) != nil {
		return Listed{}, false
	}
	return Listed{Name: name, Disabled: off, Include: inc}, true
}
