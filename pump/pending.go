package pump

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// What a watcher had noticed but not announced when it was stopped is remembered in a
// file of names, each ended by NUL, and announced first at the next start.

func (p *Poster) pendingFile() string { return filepath.Join(p.cfg.State().Dir(), "pending") }

// leave remembers names, and the paths whose announcements the broker has not confirmed.
func (p *Poster) leave(names []string) {
	names = distinct(append(p.owed.paths(), names...))
	if err := p.remember(names); err != nil {
		p.host.Log.Error("not remembered", "error", err)
	}
}

// remember keeps names for the next start; none removes the file.
func (p *Poster) remember(names []string) error {
	if len(names) == 0 {
		if err := os.Remove(p.pendingFile()); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	err := os.MkdirAll(filepath.Dir(p.pendingFile()), 0o775)
	if err == nil {
		err = writeFile(p.pendingFile(), []byte(strings.Join(names, "\x00")+"\x00"))
	}
	if err != nil {
		return fmt.Errorf("cannot remember %d paths not announced: %w", len(names), err)
	}
	return nil
}

// remembered are the names the last run left.
func (p *Poster) remembered() ([]string, error) {
	b, err := os.ReadFile(p.pendingFile())
	if errors.Is(err, fs.ErrNotExist) || len(b) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read what the last run left: %w", err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00"), nil
}

// distinct sorts names and drops those said twice.
func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// An owed is the set of paths to be announced that no confirm has come for, each with how
// many announcements of it are under way.
type owed struct {
	mu   sync.Mutex
	n    map[string]int
	none chan struct{} // closed once the set is empty, when somebody waits for it
}

func (o *owed) add(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n == nil {
		o.n = make(map[string]int)
	}
	o.n[path]++
}

// settle takes one announcement of path off.
func (o *owed) settle(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n[path]--; o.n[path] <= 0 {
		delete(o.n, path)
	}
	if len(o.n) == 0 && o.none != nil {
		close(o.none)
		o.none = nil
	}
}

// wait returns when no path is owed, or fails when ctx ends first.
func (o *owed) wait(ctx context.Context) error {
	o.mu.Lock()
	if len(o.n) == 0 {
		o.mu.Unlock()
		return nil
	}
	if o.none == nil {
		o.none = make(chan struct{})
	}
	none := o.none
	o.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (o *owed) paths() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.n))
}
