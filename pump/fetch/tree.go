package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxName is the longest file name of the filesystems we know, in bytes.
const maxName = 255

// TreeOptions are what an operator decides about a destination. The zero value works.
type TreeOptions struct {
	DirMode fs.FileMode // of directories made on the way, before umask; default 0775
	// RefuseOutsideLinks refuses symbolic links whose target is absolute or
	// leaves the tree. By default they are made as told: a link is only
	// text, and nothing is ever written through one that leaves.
	RefuseOutsideLinks bool
	// KeepOpen is the number of directories kept open; default 64.
	KeepOpen int
}

// A Tree is a directory files are put in. No path, link or race makes it write
// outside. It may be used by many goroutines at once.
type Tree struct {
	dir  string
	root *os.Root
	top  *openDir // the root itself
	o    TreeOptions

	cache     dirCache
	namedOnly atomic.Bool // the filesystem has no files without a name

	// pending is the number of fetches begun and not yet handed to an Installer.
	pending atomic.Int64

	syncing sync.Mutex // one at a time makes new directories durable, the others wait for it
	mu      sync.Mutex
	made    []string // directories that hold a new entry which is not yet durable
}

// OpenTree opens a directory, which is made when missing.
func OpenTree(dir string, o TreeOptions) (*Tree, error) {
	if o.DirMode == 0 {
		o.DirMode = 0o775
	}
	if o.KeepOpen < 1 {
		o.KeepOpen = 64
	}
	_, missing := os.Stat(dir)
	if err := os.MkdirAll(dir, o.DirMode); err != nil {
		return nil, fmt.Errorf("cannot make directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot open directory: %w", err)
	}
	f, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("cannot open directory: %w", err)
	}
	top, err := newOpenDir(".", f)
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("cannot open directory %q: %w", dir, err)
	}
	if missing != nil {
		// Files in it are only as durable as its own name and those above.
		if err := syncFilesystem(f); err != nil {
			return nil, errors.Join(fmt.Errorf("cannot make directory %q durable: %w", dir, err), top.f.Close(), root.Close())
		}
	}
	t := &Tree{dir: dir, root: root, top: top, o: o}
	t.cache.limit = o.KeepOpen
	return t, nil
}

// Dir is the path the tree was opened by.
func (t *Tree) Dir() string { return t.dir }

// Close closes the tree and the directories it keeps open.
func (t *Tree) Close() error {
	t.cache.purge()
	t.top.release()
	return t.root.Close()
}

// split checks a destination and returns its directory and name. The path is
// relative, clean and slash-separated, as post.Within gives it.
func (t *Tree) split(rel string) (dir, name string, err error) {
	if path.Clean(rel) != rel || rel == "." || rel[0] == '/' || rel == ".." || strings.HasPrefix(rel, "../") || strings.IndexByte(rel, 0) >= 0 {
		return "", "", &Error{"write", rel, Hopeless, fmt.Errorf("it is no path below %q", t.dir)}
	}
	dir, name = path.Split(rel)
	if len(name) > maxName || len(rel) >= unix.PathMax {
		return "", "", t.failed("write", rel, syscall.ENAMETOOLONG)
	}
	return path.Clean(dir), name, nil
}

// locate opens the directory of rel, making it when asked. The caller releases it.
func (t *Tree) locate(rel string, make bool) (*openDir, string, error) {
	dir, name, err := t.split(rel)
	if err != nil {
		return nil, "", err
	}
	d, err := t.openDir(dir)
	if make && errors.Is(err, fs.ErrNotExist) {
		if err = t.mkdirAll(dir); err == nil {
			d, err = t.openDir(dir)
		}
	}
	return d, name, err
}

// openDir opens a directory below the root, or takes it from the cache when
// the path still leads to it: one look instead of one open per path element.
func (t *Tree) openDir(dir string) (*openDir, error) {
	if dir == "." {
		t.top.refs.Add(1)
		return t.top, nil
	}
	if d := t.cache.get(dir); d != nil {
		if d.isAt(t.top) {
			return d, nil
		}
		t.cache.drop(d)
		d.release()
	}
	f, err := t.root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	d, err := newOpenDir(dir, f)
	if err != nil {
		return nil, err
	}
	return t.cache.put(d), nil
}

// mkdirAll makes a directory and those above it, and notes whose entries must
// be made durable before a file below counts as installed.
func (t *Tree) mkdirAll(dir string) error {
	var parents []string
	for d := dir; d != "."; d = path.Dir(d) {
		if _, err := t.root.Stat(d); err == nil {
			break
		}
		parents = append(parents, path.Dir(d))
	}
	// Noted before, for who finds the directory there as soon as it is made,
	// and after, for a batch may have synced in between.
	t.noteMade(parents)
	if err := t.root.MkdirAll(dir, t.o.DirMode); err != nil {
		return err
	}
	t.noteMade(parents)
	return nil
}

// takeMade returns the directories to sync for those made since it was last called.
func (t *Tree) takeMade() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	made := t.made
	t.made = nil
	return made
}

func (t *Tree) noteMade(dirs []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made = append(t.made, dirs...)
}
