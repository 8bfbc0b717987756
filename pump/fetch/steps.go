package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// errReplaced is a temporary name that another announcement's file, or another
// program, has taken: its bytes are not the ones verified.
var errReplaced = errors.New("its temporary file was replaced by another")

// renameStep gives a staged file its final name.
type renameStep struct{ s *Staged }

func (r *renameStep) prepare(*op) error { return r.s.marks.sound() }

func (r *renameStep) data() *Staged {
	if r.s.Same {
		return nil
	}
	return r.s
}

func (r *renameStep) apply(*op) error {
	if r.s.Same {
		return nil
	}
	if !r.s.named {
		return r.s.giveName()
	}
	if !isNamed(r.s.tempDir, int(r.s.f.Fd()), r.s.temp) {
		return errReplaced
	}
	return unix.Renameat(r.s.tempDir.fd, r.s.temp, r.s.dir.fd, r.s.name)
}

func (r *renameStep) dirs() []*openDir {
	if r.s.dir == nil { // it is its own source
		return nil
	}
	return []*openDir{r.s.dir}
}

func (r *renameStep) release(failed bool) {
	if failed && !r.s.stays {
		r.s.Discard()
		return
	}
	r.s.close()
}

// place is the directory and name a step works on.
type place struct {
	d    *openDir
	name string
}

func (p *place) data() *Staged { return nil }

func (p *place) dirs() []*openDir {
	if p.d == nil {
		return nil
	}
	return []*openDir{p.d}
}

func (p *place) release(bool) {
	if p.d != nil {
		p.d.release()
	}
}

// linkStep makes a symbolic link under a temporary name and renames it.
type linkStep struct {
	place
	target string
	temp   string
}

func (l *linkStep) prepare(o *op) (err error) {
	if o.tree.o.RefuseOutsideLinks && leaves(o.rel, l.target) {
		return &Error{"link", o.rel, Hopeless, fmt.Errorf("its target %.200q is outside %q", l.target, o.tree.dir)}
	}
	if l.d, l.name, err = o.tree.locate(o.rel, true); err != nil {
		return err
	}
	_, l.temp = Inflight{}.Name(l.name, "link")
	err = unix.Symlinkat(l.target, l.d.fd, l.temp)
	if err == syscall.EEXIST {
		if err = unix.Unlinkat(l.d.fd, l.temp, 0); err == nil {
			err = unix.Symlinkat(l.target, l.d.fd, l.temp)
		}
	}
	if err != nil {
		l.temp = ""
	}
	return err
}

func (l *linkStep) apply(*op) error {
	return unix.Renameat(l.d.fd, l.temp, l.d.fd, l.name)
}

func (l *linkStep) release(failed bool) {
	if failed && l.temp != "" {
		// Left over, it is replaced by the next try of the same link.
		_ = unix.Unlinkat(l.d.fd, l.temp, 0)
	}
	l.place.release(failed)
}

// leaves reports whether a link's target, as text, is outside the tree.
func leaves(rel, target string) bool {
	if strings.HasPrefix(target, "/") {
		return true
	}
	to := path.Join(path.Dir(rel), target)
	return to == ".." || strings.HasPrefix(to, "../")
}

// removeStep removes a name.
type removeStep struct{ place }

func (r *removeStep) prepare(o *op) (err error) {
	r.d, r.name, err = o.tree.locate(o.rel, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // then the file is gone as well
	}
	return err
}

func (r *removeStep) apply(*op) error {
	if r.d == nil {
		return nil
	}
	err := unix.Unlinkat(r.d.fd, r.name, 0)
	if err == syscall.EISDIR || err == syscall.EPERM {
		err = unix.Unlinkat(r.d.fd, r.name, unix.AT_REMOVEDIR)
	}
	if err == syscall.ENOENT {
		return nil
	}
	return err
}

// mkdirStep makes a directory.
type mkdirStep struct{ place }

func (m *mkdirStep) prepare(o *op) error {
	if _, _, err := o.tree.split(o.rel); err != nil {
		return err
	}
	return o.tree.mkdirAll(o.rel)
}

func (m *mkdirStep) apply(*op) error { return nil }
