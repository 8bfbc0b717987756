package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// WalkOptions say how Walk goes about it. The zero value reports names only,
// follows no link and ignores what cannot be read.
type WalkOptions struct {
	Follow   bool                         // enter symbolic links to directories
	NeedInfo bool                         // lstat each entry; else info is nil
	Skip     func(path string) bool       // leave out this entry and all below it
	Fault    func(path string, err error) // told what could not be read, and was left out
}

const (
	walkBatch = 256 // entries read from a directory at a time
	walkOpen  = 64  // directories held open at once; deeper ones are read whole first
)

// Walk calls fn for every regular file and symbolic link below roots, in the
// order the directories yield them, without reading a directory whole: the
// first call comes at once and memory stays flat, however many entries there
// are. A root that is a file or a link is itself reported; a link with a slash
// after it is entered. A directory reached again through a link from inside
// itself is not entered.
//
// Entries that vanish or cannot be read go to o.Fault and the walk goes on. An
// error from fn ends it and is returned; fs.SkipAll ends it with nil. A root
// that is not there is such an entry, too.
func Walk(ctx context.Context, roots []string, o WalkOptions, fn func(path string, info fs.FileInfo) error) error {
	w := walker{ctx: ctx, WalkOptions: o, fn: fn}
	for _, root := range roots {
		if err := w.root(root); errors.Is(err, fs.SkipAll) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

type walker struct {
	WalkOptions
	ctx context.Context
	fn  func(string, fs.FileInfo) error
}

func (w *walker) root(path string) error {
	info, err := look(path, w.Follow)
	if err != nil {
		w.fault(path, err)
		return nil
	}
	if info.IsDir() {
		return w.dir(path, 0, nil)
	}
	return w.entry(path, fs.FileInfoToDirEntry(info))
}

// dir walks one directory. above holds the directories on the way down, and is
// kept only when links are followed.
func (w *walker) dir(path string, depth int, above []fileID) error {
	f, err := openDir(path)
	if err != nil {
		w.fault(path, err)
		return nil
	}
	defer f.Close()
	if w.Follow {
		info, err := f.Stat()
		if err != nil || circular(above, info) {
			w.fault(path, cmp.Or(err, errLoop))
			return nil
		}
		above = append(above[:depth:depth], identify(info))
	}
	later, err := w.entries(f, path, depth, above)
	f.Close()
	for _, sub := range later {
		if err == nil {
			err = w.dir(join(path, sub), depth+1, above)
		}
	}
	return err
}

var errLoop = errors.New("it leads back to a directory it lies in")

// circular reports whether info is of a directory on the way down. Where inodes
// are not known, the kernel's limit on links ends a circle.
func circular(above []fileID, info fs.FileInfo) bool {
	id := identify(info)
	return id != (fileID{}) && slices.Contains(above, id)
}

// entries streams one directory and returns the directories left for later.
func (w *walker) entries(f *os.File, path string, depth int, above []fileID) (later []string, err error) {
	for {
		if err := w.ctx.Err(); err != nil {
			return nil, fmt.Errorf("cannot finish the walk at %q: %w", path, err)
		}
		batch, end := f.ReadDir(walkBatch)
		for _, d := range batch {
			sub := join(path, d.Name())
			switch {
			case w.Skip != nil && w.Skip(sub):
			case !w.enters(sub, d):
				err = w.entry(sub, d)
			case depth < walkOpen:
				err = w.dir(sub, depth+1, above)
			default:
				later = append(later, d.Name())
			}
			if err != nil {
				return nil, err
			}
		}
		if end != nil {
			if end != io.EOF {
				w.fault(path, end)
			}
			return later, nil
		}
	}
}

// enters reports whether an entry is a directory for this walk.
func (w *walker) enters(path string, d fs.DirEntry) bool {
	if d.IsDir() || !w.Follow || d.Type()&fs.ModeSymlink == 0 {
		return d.IsDir()
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (w *walker) entry(path string, d fs.DirEntry) error {
	if !reportable(d.Type()) {
		return nil
	}
	if !w.NeedInfo {
		return w.fn(path, nil)
	}
	info, err := d.Info()
	if err != nil {
		w.fault(path, err)
		return nil
	}
	return w.fn(path, info)
}

func (w *walker) fault(path string, err error) {
	if w.Fault != nil {
		w.Fault(path, fmt.Errorf("cannot read %q: %w", path, err))
	}
}
