package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"srpump/post"
	"srpump/pump/transfer"
)

// errBusy is a temporary file another process is writing.
var errBusy = errors.New("another process is fetching it")

// A Staged is a fetched file under its temporary name: give it to an Installer
// or Discard it. One goroutine may use it at a time.
type Staged struct {
	Size  int64            // bytes received
	Sum   post.Fingerprint // computed; zero when none was needed
	Match bool             // size and sum are what was announced
	// Resumed is how many of the bytes an interrupted fetch had left.
	Resumed int64
	// Same says that source and destination are one and the same file:
	// nothing was written, and installing it does nothing.
	Same bool
	transfer.Validator

	tree    *Tree
	rel     string
	dir     *openDir // of the final name
	name    string
	tempDir *openDir // of the temporary name, often the same as dir
	temp    string
	named   bool     // the file has the temporary name; else it has none yet
	f       *os.File // open until installed, and locked when it has a name
	counted bool     // among the tree's pending
	marks   *marks   // how far it is, for another try; or nil
	stays   bool     // the file outlives an installation that fails
}

// Path is the final path below the tree.
func (s *Staged) Path() string { return s.rel }

// TempPath is where the bytes are now, for hooks that look at them.
func (s *Staged) TempPath() string {
	if s.Same {
		return path.Join(s.tree.dir, s.rel)
	}
	if !s.named {
		return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), s.f.Fd())
	}
	return path.Join(s.tree.dir, s.tempRel())
}

// Discard removes the temporary file.
func (s *Staged) Discard() {
	if s.f != nil && s.named && isNamed(s.tempDir, int(s.f.Fd()), s.temp) {
		// What cannot be removed is taken over by the next try of the same file.
		_ = unix.Unlinkat(s.tempDir.fd, s.temp, 0)
	}
	s.close()
}

func (s *Staged) close() {
	s.uncount()
	s.marks.forget()
	s.marks = nil
	if s.f != nil {
		s.f.Close()
		s.f = nil
	}
	if s.dir != nil {
		s.dir.release()
		s.tempDir.release()
		s.dir, s.tempDir = nil, nil
	}
}

func (s *Staged) uncount() {
	if s.counted {
		s.counted = false
		s.tree.pending.Add(-1)
	}
}

// stage opens the temporary file of a destination, empty: without a name where nobody
// asked for one, else named and locked.
func (t *Tree) stage(rel string, i Inflight, tag string, mode fs.FileMode, named bool) (*Staged, error) {
	s, err := t.site(rel, i, tag)
	if err != nil {
		return nil, err
	}
	if !named && i.form == "" {
		s.f, err = t.unnamed(s.tempDir, mode)
	}
	if err == nil && s.f == nil {
		s.named = true
		s.f, err = create(s.tempDir, s.temp, mode)
	}
	if err != nil {
		s.close()
		return nil, t.failed("write", rel, err)
	}
	return s, nil
}

// site opens the directories a destination and its temporary file are in.
func (t *Tree) site(rel string, i Inflight, tag string) (*Staged, error) {
	dir, name, err := t.locate(rel, true)
	if err != nil {
		return nil, t.failed("write", rel, err)
	}
	sub, temp := i.Name(name, tag)
	s := &Staged{tree: t, rel: rel, dir: dir, name: name, tempDir: dir, temp: temp}
	if sub != "" {
		if s.tempDir, _, err = t.locate(path.Join(dir.rel, sub, temp), true); err != nil {
			dir.release()
			return nil, t.failed("write", rel, err)
		}
		return s, nil
	}
	dir.refs.Add(1)
	return s, nil
}

// tempRel is the temporary name below the tree.
func (s *Staged) tempRel() string { return path.Join(s.tempDir.rel, s.temp) }

// create makes a new, locked file. What stands there from a killed process is
// removed, but only while we hold its lock and it still has that name: it may
// just be renamed into place by a living one.
func create(d *openDir, name string, mode fs.FileMode) (*os.File, error) {
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	for try := 0; try < 3; try++ {
		fd, err := openat(d.fd, name, flags, uint32(mode.Perm()))
		if err == syscall.EEXIST {
			if err = removeLeftOver(d, name); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		f := os.NewFile(uintptr(fd), name)
		if lock(d, fd, name) {
			return f, nil
		}
		f.Close()
	}
	return nil, errBusy
}

// lock takes a file for this process and makes sure that the name is still its.
func lock(d *openDir, fd int, name string) bool {
	return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil && isNamed(d, fd, name)
}

// isNamed reports whether a name still is that of an open file.
func isNamed(d *openDir, fd int, name string) bool {
	var st, at unix.Stat_t
	return unix.Fstat(fd, &st) == nil && unix.Fstatat(d.fd, name, &at, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		st.Dev == at.Dev && st.Ino == at.Ino
}

func removeLeftOver(d *openDir, name string) error {
	fd, err := openat(d.fd, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch err {
	case nil:
		defer unix.Close(fd)
		if !lock(d, fd, name) {
			return errBusy
		}
	case syscall.ENOENT:
		return nil
	case syscall.ELOOP, syscall.ENXIO: // a link, or a socket: nobody's fetch
	default:
		return err
	}
	if err := unix.Unlinkat(d.fd, name, 0); err != nil && err != syscall.ENOENT {
		return err
	}
	return nil
}

func openat(dirfd int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dirfd, name, flags, mode)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// attributes are set before the file is seen under its final name.
type attributes struct {
	mode         fs.FileMode // permission bits only; zero leaves what umask made
	mtime, atime time.Time   // zero leaves the time of writing
}

func (s *Staged) apply(a attributes) error {
	if a.mode != 0 {
		if err := unix.Fchmod(int(s.f.Fd()), uint32(a.mode.Perm())); err != nil {
			return s.tree.failed("write", s.rel, err)
		}
	}
	if a.mtime.IsZero() {
		return nil
	}
	if a.atime.IsZero() {
		a.atime = a.mtime
	}
	at, err1 := unix.TimeToTimespec(a.atime)
	mt, err2 := unix.TimeToTimespec(a.mtime)
	if err1 != nil || err2 != nil {
		return nil // a time no file can have: a header that lies loses nothing but itself
	}
	err := unix.UtimesNanoAt(unix.AT_FDCWD, fdPath(s.f), []unix.Timespec{at, mt}, 0)
	return s.tree.failed("write", s.rel, err)
}
