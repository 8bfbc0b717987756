package hook

import (
	"context"
	"slices"
	"strings"

	"srpump/post"
)

// forSchemes runs a hook for some kinds of URL; others it lets pass.
type forSchemes struct {
	Hook
	schemes []string
}

func (h forSchemes) handles(scheme string) bool { return slices.Contains(h.schemes, scheme) }

func (h forSchemes) Run(ctx context.Context, e *Event) (bool, error) {
	scheme, _, _ := strings.Cut(e.URL, ":")
	if !h.handles(strings.ToLower(scheme)) {
		return true, nil
	}
	return h.Hook.Run(ctx, e)
}

// ForScheme reports whether a line takes the place of a transport for URLs of a scheme; native says that
// there is one, which only a line that names the scheme replaces.
func ForScheme(line, scheme string, native bool) bool {
	if schemes, _ := Schemes(line); schemes != nil {
		return slices.Contains(schemes, strings.ToLower(scheme))
	}
	return !native
}

// A chooser looks at the announcement too before it takes the place of a transport.
type chooser interface {
	chooses(scheme string, a *post.Announcement) bool
}

// Handles reports whether a hook of the chain takes the place of a transport for URLs of a scheme, for
// an announcement; native says that there is one, which only a line that names the scheme replaces.
func (c *Chain) Handles(scheme string, native bool, a *post.Announcement) bool {
	if c.Empty() {
		return false
	}
	scheme = strings.ToLower(scheme)
	return slices.ContainsFunc(c.hooks, func(l link) bool {
		switch h := l.Hook.(type) {
		case forSchemes:
			return h.handles(scheme)
		case chooser:
			return h.chooses(scheme, a)
		}
		return !native
	})
}
