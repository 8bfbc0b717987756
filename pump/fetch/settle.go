package fetch

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// errNoFile is what is no file with contents of its own, such as a link, a pipe or a device.
var errNoFile = errors.New("not a regular file")

// Open opens a regular file of the tree that somebody else made, for reading. Nothing is there, an error for which
// errors.Is(err, fs.ErrNotExist) holds; a link or anything else that is no regular file is a failure of class
// Hopeless.
func (t *Tree) Open(rel string) (*os.File, error) {
	if _, _, err := t.split(rel); err != nil {
		return nil, err
	}
	before, err := t.root.Lstat(rel)
	if err != nil {
		return nil, t.failed("read", rel, err)
	}
	if !before.Mode().IsRegular() {
		return nil, &Error{"read", rel, Hopeless, errNoFile}
	}
	f, err := t.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, t.failed("read", rel, err)
	}
	now, err := f.Stat()
	if err == nil && !os.SameFile(before, now) {
		err = &Error{"read", rel, Temporary, errReplaced}
	}
	if err != nil {
		f.Close()
		return nil, t.failed("read", rel, err)
	}
	return f, nil
}

// Settle makes durable what somebody else has made: the contents of f, which Open opened, its name, and the
// directories it is in. f is closed by the caller, after done.
func (in *Installer) Settle(t *Tree, rel string, f *os.File, done func(error)) {
	in.hand(&op{tree: t, rel: rel, verb: "write", step: &settleStep{f: f}, done: done})
}

// settleStep changes nothing, and is made durable all the same.
type settleStep struct {
	f  *os.File
	at []*openDir // the directory of the file, and all above it, for they may be new too
}

func (s *settleStep) prepare(o *op) error {
	for dir := path.Dir(o.rel); ; dir = path.Dir(dir) {
		d, err := o.tree.openDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return fs.ErrNotExist
		}
		if err != nil {
			return err
		}
		s.at = append(s.at, d)
		if dir == "." {
			return nil
		}
	}
}

func (s *settleStep) data() *Staged    { return &Staged{f: s.f, tempDir: s.at[0]} }
func (s *settleStep) apply(*op) error  { return nil }
func (s *settleStep) dirs() []*openDir { return s.at }
func (s *settleStep) release(failed bool) {
	for _, d := range s.at {
		d.release()
	}
}
