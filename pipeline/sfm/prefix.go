package sfm

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
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

// checkPath tells why a path of a message cannot be taken: it must be absolute, and what is behind ..
// is not what a person who reads it sees.
func checkPath(name string) error {
	switch {
	case !path.IsAbs(name):
		return &MemberError{"path", fmt.Sprintf("%q is not absolute", name)}
	case slices.Contains(strings.Split(name, "/"), ".."):
		return &MemberError{"path", fmt.Sprintf("%q has ..", name)}
	}
	return nil
}

// below tells whether a clean path is a directory or below it.
func below(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// Resolve is Local for a path that somebody else has asked for. Where there are prefixes it must begin
// with one of them, or be below what one of them is here. The error is a *MemberError of path.
func (all Prefixes) Resolve(name string) (string, error) {
	if err := checkPath(name); err != nil {
		return "", err
	}
	clean := path.Clean(name)
	known := func(p Prefix) bool { return below(clean, p.Message) || below(clean, p.Local) }
	if len(all) > 0 && !slices.ContainsFunc(all, known) {
		return "", &MemberError{"path", fmt.Sprintf("%q is below none of the prefixes that are served here (-m)", name)}
	}
	return all.Local(name), nil
}

// Local is where a path of a message is here: the longest prefix counts.
func (all Prefixes) Local(name string) string {
	name = path.Clean(name)
	best := Prefix{}
	for _, p := range all {
		if below(name, p.Message) && len(p.Message) >= len(best.Message) {
			best = p
		}
	}
	if best.Message == "" {
		return name
	}
	return filepath.Join(best.Local, strings.TrimPrefix(name, best.Message))
}
