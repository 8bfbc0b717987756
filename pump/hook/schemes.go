package hook

import (
	"context"
	"slices"
	"strings"
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

// Handles reports whether a hook of the chain takes the place of a transport for URLs of a scheme;
// native says that there is one, which only a line that names the scheme replaces.
func (c *Chain) Handles(scheme string, native bool) bool {
	if c.Empty() {
		return false
	}
	return slices.ContainsFunc(c.hooks, func(l link) bool {
		h, named := l.Hook.(forSchemes)
		return named && h.handles(strings.ToLower(scheme)) || !named && !native
	})
}
