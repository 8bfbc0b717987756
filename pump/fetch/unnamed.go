package fetch

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// unnamed opens a file without a name, see O_TMPFILE in open(2): a kill leaves nothing
// behind, nobody can open it by a guess, and its directory is changed and locked once, when the file
// is complete. It returns nil where the filesystem has no such files.
func (t *Tree) unnamed(d *openDir, mode fs.FileMode) (*os.File, error) {
	if t.namedOnly.Load() {
		return nil, nil
	}
	fd, err := openat(d.fd, ".", unix.O_RDWR|unix.O_TMPFILE|unix.O_CLOEXEC, uint32(mode.Perm()))
	switch err {
	case nil:
		return os.NewFile(uintptr(fd), "unnamed"), nil
	case syscall.EOPNOTSUPP, syscall.EISDIR, syscall.EINVAL, syscall.ENOENT:
		t.namedOnly.Store(true)
		return nil, nil
	}
	return nil, err
}

// fdPath is the name under which this process reaches an open file.
func fdPath(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// giveName links an unnamed file to its final name. Where that is taken it gets the
// temporary one first, for only a rename replaces what is there in one step.
func (s *Staged) giveName() error {
	from := fdPath(s.f)
	err := unix.Linkat(unix.AT_FDCWD, from, s.dir.fd, s.name, unix.AT_SYMLINK_FOLLOW)
	if err != syscall.EEXIST {
		return err
	}
	if err = unix.Linkat(unix.AT_FDCWD, from, s.dir.fd, s.temp, unix.AT_SYMLINK_FOLLOW); err == syscall.EEXIST {
		if err = removeLeftOver(s.dir, s.temp); err == nil {
			err = unix.Linkat(unix.AT_FDCWD, from, s.dir.fd, s.temp, unix.AT_SYMLINK_FOLLOW)
		}
	}
	if err != nil {
		return err
	}
	s.named = true
	return unix.Renameat(s.dir.fd, s.temp, s.dir.fd, s.name)
}
