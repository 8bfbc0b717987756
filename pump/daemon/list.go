package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"srpump/pump/config"
)

// A Listed is one configuration of a component.
type Listed struct {
	Name     string
	Path     string // empty when its file is gone
	Disabled bool   // its file ends in .off
}

// List returns the configurations of a component in the user's directory, by name.
func List(env config.Env, component string) ([]Listed, error) {
	dir := filepath.Join(env.ConfigDir(), component)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Listed
	for _, e := range entries {
		name, disabled := strings.CutSuffix(e.Name(), ".off")
		name, isConfig := strings.CutSuffix(name, ".conf")
		if !isConfig || config.CheckName(name) != nil || e.IsDir() {
			continue
		}
		out = append(out, Listed{name, filepath.Join(dir, e.Name()), disabled})
	}
	return both(out), nil
}

// both drops the disabled file of a configuration that has one that is not.
func both(all []Listed) []Listed {
	slices.SortFunc(all, func(a, b Listed) int { return strings.Compare(a.Path, b.Path) })
	return slices.DeleteFunc(all, func(l Listed) bool {
		return l.Disabled && slices.ContainsFunc(all, func(o Listed) bool { return o.Name == l.Name && !o.Disabled })
	})
}

// Orphans are the names among the state directories of a component that a process holds and
// that are not among the configurations: their files were removed while they ran.
func Orphans(root, component string, known []Listed) []Listed {
	entries, _ := os.ReadDir(filepath.Join(root, component)) // none before the first start
	var out []Listed
	for _, e := range entries {
		if slices.ContainsFunc(known, func(l Listed) bool { return l.Name == e.Name() }) {
			continue
		}
		st, err := config.NewState(root, component, e.Name())
		if err != nil {
			continue
		}
		if _, held, err := Find(st); err == nil && held {
			out = append(out, Listed{Name: e.Name()})
		}
	}
	return out
}
