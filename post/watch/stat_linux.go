package watch

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// identify returns which file info is of, whatever its name.
func identify(info fs.FileInfo) fileID {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}
	}
	return fileID{dev: uint64(st.Dev), ino: st.Ino}
}

// ChangeTime is when the inode of a file last changed: its contents, name or permissions. No
// program can set it. Where it is not known it is the time of the contents.
func ChangeTime(info fs.FileInfo) time.Time {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime()
	}
	return time.Unix(st.Ctim.Unix())
}

// openDir opens a directory and nothing else: a FIFO that took its place
// meanwhile is refused instead of waited on.
func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
}

// linkCount is the number of names a file has.
func linkCount(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
