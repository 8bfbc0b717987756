package hook

import (
	"context"
	"errors"
	"fmt"
)

// A Chain is the hooks of one point, in the order of their lines. The nil Chain is empty.
type Chain struct {
	point string
	hooks []link
}

// A link is a hook and what it is called in errors: its line, without what is secret in it.
type link struct {
	Hook
	line string
}

// Empty reports whether there is nothing to run.
func (c *Chain) Empty() bool { return c == nil || len(c.hooks) == 0 }

// Lines are the lines of the hooks as they are written, in their order; what is secret is masked.
func (c *Chain) Lines() (lines []string) {
	if c != nil {
		for _, h := range c.hooks {
			lines = append(lines, h.line)
		}
	}
	return lines
}

// Run shows e to one hook after the other until one returns false, which is returned. Each sees
// what those before it changed; of what one of them may not change nothing is kept.
func (c *Chain) Run(ctx context.Context, e *Event) (bool, error) {
	if c.Empty() {
		return true, nil
	}
	e.Point = c.point
	for _, h := range c.hooks {
		before := e.clone()
		ok, err := h.Run(ctx, e)
		if err == nil && ok {
			err = e.check(before)
		}
		if err != nil {
			*e = *before
			return false, fmt.Errorf("cannot run %s %.80q: %w", c.point, h.line, err)
		}
		if !ok {
			return false, nil
		}
	}
	return true, nil
}

// A Set is the hooks of a configuration. The nil Set has none.
type Set struct {
	chains map[string]*Chain
	all    []Hook
}

// At is the chain of a point, nil when nothing is to be run there.
func (s *Set) At(point string) *Chain {
	if s == nil {
		return nil
	}
	return s.chains[point]
}

// Close ends all hooks.
func (s *Set) Close() error {
	if s == nil {
		return nil
	}
	errs := make([]error, len(s.all))
	done := make(chan struct{})
	for i, h := range s.all {
		go func() {
			errs[i] = h.Close()
			done <- struct{}{}
		}()
	}
	for range s.all {
		<-done
	}
	return errors.Join(errs...)
}
