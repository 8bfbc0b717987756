package fetch

import (
	"container/list"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// openDir is a directory of a tree, held open so that files in it are reached
// by their bare names, which no link can redirect.
type openDir struct {
	rel  string
	f    *os.File
	fd   int
	dev  uint64
	ino  uint64
	refs atomic.Int32 // one for the cache, one per user
	elem *list.Element
}

func newOpenDir(rel string, f *os.File) (*openDir, error) {
	d := &openDir{rel: rel, f: f, fd: int(f.Fd())}
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		f.Close()
		return nil, err
	}
	d.dev, d.ino = uint64(st.Dev), st.Ino
	d.refs.Store(1)
	return d, nil
}

func (d *openDir) release() {
	if d.refs.Add(-1) == 0 {
		d.f.Close()
	}
}

// isAt reports whether the path from the top still leads to this directory;
// it may have been moved or removed since it was opened.
func (d *openDir) isAt(top *openDir) bool {
	var st unix.Stat_t
	return unix.Fstatat(top.fd, d.rel, &st, 0) == nil && uint64(st.Dev) == d.dev && st.Ino == d.ino
}

// dirCache keeps the directories last used open.
type dirCache struct {
	mu    sync.Mutex
	limit int
	dirs  map[string]*openDir
	order list.List // most recently used in front
}

// get returns a kept directory, counted for the caller, or nil.
func (c *dirCache) get(rel string) *openDir {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.dirs[rel]
	if d == nil {
		return nil
	}
	c.order.MoveToFront(d.elem)
	d.refs.Add(1)
	return d
}

// put keeps a directory and returns it, counted for the caller.
func (c *dirCache) put(d *openDir) *openDir {
	d.refs.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dirs == nil {
		c.dirs = make(map[string]*openDir, c.limit)
	}
	if old := c.dirs[d.rel]; old != nil {
		c.remove(old)
	}
	for len(c.dirs) >= c.limit {
		c.remove(c.order.Back().Value.(*openDir))
	}
	c.dirs[d.rel] = d
	d.elem = c.order.PushFront(d)
	return d
}

// drop forgets a directory that is no longer where it was.
func (c *dirCache) drop(d *openDir) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dirs[d.rel] == d {
		c.remove(d)
	}
}

func (c *dirCache) remove(d *openDir) {
	delete(c.dirs, d.rel)
	c.order.Remove(d.elem)
	d.release()
}

func (c *dirCache) purge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.dirs {
		c.remove(d)
	}
}
