package poll

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A Local lists directories of this host.
type Local struct {
	Base string // absolute; what directories are below
}

// portion is how many names are read at a time.
const portion = 1000

// List yields the entries of a directory below Base, "" for Base itself. What vanishes while
// it is looked at is left out.
func (l *Local) List(ctx context.Context, dir string, o Options, yield func(Entry) error) (Skipped, error) {
	r := &reading{o: o, yield: yield}
	d, err := os.Open(l.Path(dir))
	if err != nil {
		return r.skipped, err
	}
	defer d.Close()
	for {
		list, err := d.ReadDir(portion)
		for _, e := range list {
			if info, err := e.Info(); err == nil {
				if err := r.local(info); err != nil {
					return r.skipped, err
				}
			}
		}
		switch {
		case err == io.EOF:
			return r.skipped, nil
		case err != nil:
			return r.skipped, err
		case ctx.Err() != nil:
			return r.skipped, ctx.Err()
		}
	}
}

// Path is the path of a directory or file below Base.
func (l *Local) Path(name string) string { return filepath.Join(l.Base, filepath.FromSlash(name)) }

// Close does nothing.
func (l *Local) Close() error { return nil }

func (r *reading) local(info fs.FileInfo) error {
	e := Entry{Name: info.Name(), Size: info.Size(), ModTime: info.ModTime().UTC(), Precision: 1, Mode: info.Mode().Perm(), PermKnown: true}
	switch {
	case info.IsDir():
		e.Dir, e.Size = true, -1
	case info.Mode()&fs.ModeSymlink != 0:
		e.Link, e.Size, e.PermKnown = "?", -1, false
	case !info.Mode().IsRegular():
		return nil
	}
	return r.give(e)
}
