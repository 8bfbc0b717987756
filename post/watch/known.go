package watch

import (
	"slices"
	"strings"
	"sync"
)

// known is every name that was reported or was there at the start, by directory: what lay below a
// directory that is gone can only be told from memory.
type known struct {
	mu   sync.Mutex
	dirs map[string]map[string]sort // by directory and name
}

// A sort is what a known path is.
type sort uint8

const (
	file      sort = iota + 1 // or a link; what is below it was reported since, and its removal not yet
	directory                 // that was reported, or was there
	passage                   // a directory of which is known only that something is in it
)

func newKnown() *known { return &known{dirs: make(map[string]map[string]sort)} }

func parted(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

// put remembers a path.
func (k *known) put(path string, isDir bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	what := file
	if isDir {
		what = directory
	}
	for path != "" {
		dir, name := parted(path)
		names := k.dirs[dir]
		if names == nil {
			names = make(map[string]sort)
			k.dirs[dir] = names
		}
		if what == passage && names[name] != 0 {
			return
		}
		names[name] = what
		path, what = dir, passage
	}
}

// drop forgets a path, but nothing below it.
func (k *known) drop(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for {
		dir, name := parted(path)
		if len(k.dirs[path]) > 0 {
			k.dirs[dir][name] = passage
			return
		}
		delete(k.dirs[dir], name)
		if len(k.dirs[dir]) > 0 {
			return
		}
		delete(k.dirs, dir)
		if up, last := parted(dir); dir == "" || k.dirs[up][last] != passage {
			return
		}
		path = dir
	}
}

// holds reports whether anything below a path is known.
func (k *known) holds(path string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.dirs[path]) > 0
}

// has reports whether a path is known, as what it is said to be.
func (k *known) has(path string, isDir bool) bool {
	dir, name := parted(path)
	k.mu.Lock()
	defer k.mu.Unlock()
	what := k.dirs[dir][name]
	return isDir && what == directory || !isDir && what == file
}

// A memory is a known path.
type memory struct {
	path string
	dir  bool
}

// below lists what is known below a directory: files and links first, then
// directories, the lowest first.
func (k *known) below(dir string) (all []memory) {
	k.mu.Lock()
	defer k.mu.Unlock()
	stack := []string{dir}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for n, what := range k.dirs[at] {
			path := join(at, n)
			all = append(all, memory{path, what != file})
			if len(k.dirs[path]) > 0 {
				stack = append(stack, path)
			}
		}
	}
	slices.SortFunc(all, func(a, b memory) int {
		switch {
		case a.dir != b.dir && b.dir:
			return -1
		case a.dir != b.dir:
			return 1
		case a.dir:
			return strings.Compare(b.path, a.path)
		}
		return strings.Compare(a.path, b.path)
	})
	return all
}
