package export

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"srpump/pipeline/sfm"
	"srpump/pipeline/spool"
)

const (
	stagePrefix  = ".sfm_export-"
	readmeSuffix = "-README.txt" // of the file SFM UI puts beside the others
)

// A stage is the directory an export is made in. It is locked by whoever makes it.
type stage struct {
	dir    string // of the export
	temp   string // beside it
	locked *os.File
}

// stagePath is where the export of an id into a directory is made: always in the same place, so that
// what a process has left is found by the next.
func stagePath(id, dir string) string {
	sum := sha256.Sum256([]byte(id + "\x00" + dir))
	return filepath.Join(filepath.Dir(dir), stagePrefix+hex.EncodeToString(sum[:8]))
}

// openStage makes the directory, empty. The error is a *Refusal when that of the export holds what
// is no export, and ErrBusy when another process is making it.
func openStage(id, dir string) (*stage, error) {
	if err := replaceable(dir); err != nil {
		return nil, err
	}
	s := &stage{dir: dir, temp: stagePath(id, dir)}
	if err := os.MkdirAll(s.temp, 0o775); err != nil {
		return nil, &PersistError{err}
	}
	var err error
	if s.locked, err = lockDir(s.temp); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.temp)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.temp, e.Name())))
	}
	if err != nil {
		s.close()
		return nil, &PersistError{err}
	}
	return s, nil
}

// lockDir takes a directory for this process until the file is closed.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrBusy
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// replaceable tells whether a directory may be replaced as a whole: there is none, or it holds
// nothing but exports. A path in a message may be any.
func replaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return refuse("cannot replace %q: %s", dir, cause(err))
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !isExport(e.Name()) {
			return refuse("cannot replace %q: it holds %q, which is no export", dir, e.Name())
		}
	}
	return nil
}

// isExport tells names that exports have: PREFIX_NNN.EXT, and the file SFM UI puts beside them.
func isExport(name string) bool {
	if strings.HasSuffix(name, readmeSuffix) {
		return true
	}
	ext := filepath.Ext(name)
	i := strings.LastIndexByte(name, '_')
	if i < 0 || ext == "" {
		return false
	}
	digits := strings.TrimSuffix(name[i+1:], ext)
	return len(digits) >= 3 && strings.Trim(digits, "0123456789") == "" &&
		slices.ContainsFunc(formats(), func(f *format) bool { return "."+f.ext == ext })
}

// inode is what a directory is known by, wherever it is moved to.
func inode(path string) (uint64, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	return st.Ino, err
}

// seal makes what is in the directory durable, and returns its inode.
func (s *stage) seal() (uint64, error) {
	if err := s.keepReadme(); err != nil {
		return 0, err
	}
	if err := s.locked.Sync(); err != nil {
		return 0, err
	}
	return inode(s.temp)
}

// keepReadme has the file SFM UI wrote in the new directory, too.
func (s *stage) keepReadme() error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), readmeSuffix) {
			err = errors.Join(err, os.Link(filepath.Join(s.dir, e.Name()), filepath.Join(s.temp, e.Name())))
		}
	}
	return err
}

// install puts a directory in the place of another, which is removed: at any moment there is the
// old one or the new one. It is done when there is nothing in that place any more, or something of
// another inode.
func install(temp, dir string, ino uint64) error {
	found, err := inode(temp)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && found == ino {
		if err := replaceable(dir); err != nil {
			return err
		}
		if err := swap(temp, dir); err != nil {
			return fmt.Errorf("cannot replace %q: %w", dir, err)
		}
	}
	// Also when an earlier process has put it there: it may not have come to that.
	if err := spool.SyncDir(filepath.Dir(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(temp)
}

// swap exchanges two directories. A file system that cannot has neither for a moment.
func swap(temp, dir string) error {
	err := unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, dir, unix.RENAME_EXCHANGE)
	switch {
	case errors.Is(err, unix.ENOENT):
		return os.Rename(temp, dir)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		return os.Rename(temp, dir)
	}
	return err
}

// discard gives up what was made.
func (s *stage) discard() error {
	defer s.close()
	return os.RemoveAll(s.temp)
}

func (s *stage) close() { _ = s.locked.Close() } // it was only read

// prefix begins the names of the files of an export.
func prefix(id string) string { return sfm.SafeName(id) }
