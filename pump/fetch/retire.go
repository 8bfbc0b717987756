package fetch

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A Look is what a file or link in a tree looks like.
type Look struct {
	Size         int64
	Mtime, Ctime time.Time // of its contents; of its inode, which no program can set
}

// Look looks at a file or link; the error of anything else, or of nothing, is fs.ErrNotExist.
func (t *Tree) Look(rel string) (Look, error) {
	d, name, err := t.locate(rel, false)
	if err != nil {
		return Look{}, err
	}
	defer d.release()
	return lookAt(d, name)
}

func lookAt(d *openDir, name string) (Look, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Look{}, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFREG && kind != unix.S_IFLNK {
		return Look{}, &os.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return Look{Size: st.Size, Mtime: time.Unix(st.Mtim.Unix()), Ctime: time.Unix(st.Ctim.Unix())}, nil
}

// Retire removes a file or link which looks as agreed says it must, and reports whether it
// did. Between look and removal nobody else who keeps the order of the path may touch it.
func (t *Tree) Retire(rel string, agreed func(Look) bool) (bool, error) {
	d, name, err := t.locate(rel, false)
	if err == nil {
		defer d.release()
		var l Look
		if l, err = lookAt(d, name); err == nil && !agreed(l) {
			return false, nil
		}
	}
	if err == nil {
		err = unix.Unlinkat(d.fd, name, 0)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, t.failed("remove", rel, err)
	}
	return true, nil
}

// RemoveEmpty removes a directory in which nothing is, and reports whether it did.
func (t *Tree) RemoveEmpty(rel string) bool {
	d, name, err := t.locate(rel, false)
	if err != nil {
		return false
	}
	defer d.release()
	return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR) == nil
}
