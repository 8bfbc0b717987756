package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// Move gives what is called old in from the name rel in to: a file, a link or a directory with all
// that is in it, in one step, over a file or link of that name. Where both are names of one file
// only the old one is removed. Nothing of that name is an error for which errors.Is(err,
// fs.ErrNotExist) holds; another filesystem is one of class Hopeless.
func (in *Installer) Move(from *Tree, old string, to *Tree, rel string, done func(error)) {
	in.hand(&op{tree: to, rel: rel, verb: "move", step: &moveStep{from: from, old: old}, done: done})
}

// Take gives the file called old in from the second name that j is for, with the attributes j
// asks for, over a file or link of that name. Where one of them is on another filesystem, or
// links are not allowed, it fails; nothing has changed then.
func (in *Installer) Take(j Job, from *Tree, old string, done func(error)) {
	in.hand(&op{tree: j.Tree, rel: j.Path, verb: "link", step: &takeStep{from: from, old: old, job: j}, done: done})
}

// Adjust gives a file that is here already the attributes j asks for.
func (in *Installer) Adjust(j Job, done func(error)) {
	in.hand(&op{tree: j.Tree, rel: j.Path, verb: "write", step: &adjustStep{job: j}, done: done})
}

// moveStep renames something.
type moveStep struct {
	place
	from  *Tree
	old   string
	first place // where it was
}

func (m *moveStep) prepare(o *op) (err error) {
	if m.first.d, m.first.name, err = m.from.locate(m.old, false); err != nil {
		return err
	}
	if !m.first.exists() {
		return fs.ErrNotExist
	}
	m.d, m.name, err = o.tree.locate(o.rel, true)
	return err
}

func (m *moveStep) apply(*op) error {
	if sameFile(m.first, m.place) {
		return unix.Unlinkat(m.first.d.fd, m.first.name, 0)
	}
	err := unix.Renameat(m.first.d.fd, m.first.name, m.d.fd, m.name)
	if err == syscall.EINVAL {
		return &Error{"move", m.old, Hopeless, errors.New("a directory cannot be moved into itself")}
	}
	return err
}

func (m *moveStep) dirs() []*openDir { return append(m.first.dirs(), m.place.dirs()...) }

func (m *moveStep) release(failed bool) {
	m.first.release(failed)
	m.place.release(failed)
}

// takeStep makes a second name for a file.
type takeStep struct {
	place
	from   *Tree
	old    string
	job    Job
	temp   string
	staged *Staged // the file, where its attributes were changed
}

func (t *takeStep) prepare(o *op) (err error) {
	first := place{}
	if first.d, first.name, err = t.from.locate(t.old, false); err != nil {
		return err
	}
	defer first.release(false)
	if t.d, t.name, err = o.tree.locate(o.rel, true); err != nil {
		return err
	}
	if !sameFile(first, t.place) {
		_, temp := Inflight{}.Name(t.name, "take")
		if err := linkAs(first, t.d, temp); err != nil {
			return err
		}
		t.temp = temp
	}
	t.staged, err = t.job.adjust(first)
	return err
}

// linkAs makes a second name for what is at p; one left by a killed process is replaced.
func linkAs(p place, d *openDir, name string) error {
	err := unix.Linkat(p.d.fd, p.name, d.fd, name, 0)
	if err == syscall.EEXIST {
		if err = unix.Unlinkat(d.fd, name, 0); err == nil {
			err = unix.Linkat(p.d.fd, p.name, d.fd, name, 0)
		}
	}
	return err
}

func (t *takeStep) data() *Staged { return t.staged }

func (t *takeStep) apply(*op) error {
	if t.temp == "" {
		return nil
	}
	return unix.Renameat(t.d.fd, t.temp, t.d.fd, t.name)
}

func (t *takeStep) release(failed bool) {
	if failed && t.temp != "" {
		// Left over, it is replaced by the next try of the same file.
		_ = unix.Unlinkat(t.d.fd, t.temp, 0)
	}
	t.staged.closeFile()
	t.place.release(failed)
}

// adjustStep changes modes and times in place.
type adjustStep struct {
	place
	job    Job
	staged *Staged
}

func (a *adjustStep) prepare(o *op) (err error) {
	if a.d, a.name, err = o.tree.locate(o.rel, false); err == nil {
		a.staged, err = a.job.adjust(a.place)
	}
	return err
}

func (a *adjustStep) data() *Staged   { return a.staged }
func (a *adjustStep) apply(*op) error { return nil }

func (a *adjustStep) release(failed bool) {
	a.staged.closeFile()
	a.place.release(failed)
}

// exists reports whether something bears the name.
func (p place) exists() bool {
	var st unix.Stat_t
	return unix.Fstatat(p.d.fd, p.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// sameFile reports whether two names are of one file that is no directory: renaming one to the
// other would do nothing.
func sameFile(p, q place) bool {
	var a, b unix.Stat_t
	return unix.Fstatat(p.d.fd, p.name, &a, unix.AT_SYMLINK_NOFOLLOW) == nil && unix.Fstatat(q.d.fd, q.name, &b, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		a.Dev == b.Dev && a.Ino == b.Ino && a.Mode&unix.S_IFMT != unix.S_IFDIR
}

// IsDir reports whether a directory is called rel.
func (t *Tree) IsDir(rel string) bool { return t.kind(rel) == unix.S_IFDIR }

// Has reports whether anything is called rel.
func (t *Tree) Has(rel string) bool { return t.kind(rel) != 0 }

// kind is the type of what is called rel, without following a link; 0 when nothing is.
func (t *Tree) kind(rel string) uint32 {
	d, name, err := t.locate(rel, false)
	if err != nil {
		return 0
	}
	defer d.release()
	var st unix.Stat_t
	if unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return 0
	}
	return st.Mode & unix.S_IFMT
}

var errNotRegular = fmt.Errorf("not a regular file: %w", fs.ErrInvalid)
