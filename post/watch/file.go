package watch

import (
	"hash/maphash"
	"io/fs"
	"os"
	"strings"
	"time"
)

// A fileID names a file whatever its path: device and inode. The zero value
// means unknown.
type fileID struct{ dev, ino uint64 }

// reportable reports whether a file of this type is announced at all.
func reportable(mode fs.FileMode) bool {
	return mode.IsRegular() || mode&fs.ModeSymlink != 0
}

// join makes the path of an entry. It does not clean: a name is any bytes but
// slash and NUL, and the root stays as it was given.
func join(dir, name string) string {
	if strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + "/" + name
}

// look is lstat, or stat where a symbolic link leads to a directory and follow
// is set. A link that leads nowhere is itself.
func look(path string, follow bool) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil || !follow || info.Mode()&fs.ModeSymlink == 0 {
		return info, err
	}
	if target, err := os.Stat(path); err == nil && target.IsDir() {
		return target, nil
	}
	return info, nil
}

// A fileState is enough to see that a file changed: times in nanoseconds.
type fileState struct {
	id           fileID
	size         int64
	mode         fs.FileMode
	mtime, ctime int64
}

func stateOf(info fs.FileInfo) fileState {
	return fileState{
		id: identify(info), size: info.Size(), mode: info.Mode(),
		mtime: info.ModTime().UnixNano(), ctime: ChangeTime(info).UnixNano(),
	}
}

// A signature tells two states of a file apart without keeping either.
type signature struct {
	state  uint32 // size, mtime, mode, inode
	change uint32 // ctime; 0 while it is too fresh to prove anything
}

// racy is the age below which an equal ctime proves nothing: file systems tick
// in steps of up to 10 ms, so a later write may bear the same time.
const racy = 50 * time.Millisecond

// sign condenses info. now is the wall clock at the time of the lstat.
func sign(seed maphash.Seed, info fs.FileInfo, now time.Time) signature {
	s := stateOf(info)
	ctime := s.ctime
	s.ctime = 0
	sig := signature{state: uint32(maphash.Comparable(seed, s))}
	if now.UnixNano()-ctime > int64(racy) {
		sig.change = uint32(maphash.Comparable(seed, ctime)) | 1
	}
	return sig
}
