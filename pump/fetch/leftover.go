package fetch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A leftOver is a temporary file as it is remembered, should nobody come back for it. Names are bytes: those of files
// need not be text.
type leftOver struct {
	Root []byte // directory of the tree
	Temp []byte // the file, below it
	File FileID // which it is: another may have taken its name, and its inode
}

// leftOver is what the staged file, which has a name, would leave.
func (s *Staged) leftOver() (leftOver, error) {
	id, err := idOf(int(s.f.Fd()), "")
	return leftOver{[]byte(s.tree.dir), []byte(s.tempRel()), id}, err
}

// sweep removes the file, and returns its path, unless it is another's by now. One that is being written, or was
// since a time, is errBusy.
func (l *leftOver) sweep(before time.Time) (path string, err error) {
	root, err := os.OpenRoot(string(l.Root))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer root.Close()
	f, err := root.OpenFile(string(l.Temp), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ELOOP) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if id, err := idOf(int(f.Fd()), ""); err != nil || id != l.File {
		return "", err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", err
	}
	// The time of the last change of any kind: that of the content may be the announced one.
	if !time.Unix(st.Ctim.Unix()).Before(before) || unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return "", errBusy
	}
	if !names(root, string(l.Temp), f) {
		return "", errBusy // who had the lock before has ended it, and the name may be another's
	}
	return filepath.Join(string(l.Root), string(l.Temp)), root.Remove(string(l.Temp))
}

// names reports whether a path below a root still is that of an open file.
func names(root *os.Root, path string, f *os.File) bool {
	is, err := f.Stat()
	now, errNow := root.Lstat(path)
	return err == nil && errNow == nil && os.SameFile(is, now)
}
