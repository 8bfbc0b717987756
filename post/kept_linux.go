package post

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// getAttr is the value of an extended attribute of f, if it has one that is not too long.
func getAttr(f *os.File, name string) (string, bool) {
	var b [maxAttr]byte
	n, err := unix.Fgetxattr(int(f.Fd()), name, b[:])
	if err != nil || n > len(b) {
		return "", false
	}
	return string(b[:n]), true
}

func setAttr(f *os.File, name, value string) bool {
	return unix.Fsetxattr(int(f.Fd()), name, []byte(value), 0) == nil
}

// dropAttr reports whether f is without the attribute.
func dropAttr(f *os.File, name string) bool {
	err := unix.Fremovexattr(int(f.Fd()), name)
	return err == nil || err == unix.ENODATA
}

// changeTime is when anything of the file was last changed, where the system tells.
func changeTime(fi fs.FileInfo) (time.Time, bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(st.Ctim.Unix()), true
}
