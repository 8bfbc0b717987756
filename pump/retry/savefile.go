package retry

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A SaveFile is what the option save writes to: lines of EncodeSaved, in the order of arrival. It is
// one process's at a time: another that restored it would remove what is being added to.
type SaveFile struct {
	store *store
	held  *os.File // the lock
}

// ErrSaveBusy is a save file that somebody else has open.
var ErrSaveBusy = errors.New("another process saves to it or restores it")

// OpenSave opens the file at path to add to it, made when missing with its directory. What a kill
// left of a last line stays, on a line of its own. It fails with ErrSaveBusy.
func OpenSave(path string) (*SaveFile, error) {
	f, err := openSave(path)
	if err != nil {
		return nil, fmt.Errorf("cannot save to %q: %w", path, err)
	}
	return f, nil
}

func openSave(path string) (*SaveFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o775); err != nil {
		return nil, err
	}
	held, err := holdSave(path, os.O_CREATE)
	if err != nil {
		return nil, err
	}
	s, err := openStore(path, false, func(int64, []byte) error { return nil })
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return &SaveFile{s, held}, nil
}

// TakeSave opens the file at path to be read and then removed, before it is closed. It fails with ErrSaveBusy.
func TakeSave(path string) (*os.File, error) {
	f, err := holdSave(path, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot restore %q: %w", path, err)
	}
	return f, nil
}

// holdSave opens and locks the file that has the name at that moment: who held it before may
// have removed it.
func holdSave(path string, flags int) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|flags, 0o600)
		if err != nil {
			return nil, err
		}
		var st unix.Stat_t
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			err = unix.Fstat(int(f.Fd()), &st)
		}
		if err == nil && st.Nlink > 0 {
			return f, nil
		}
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrSaveBusy
		}
		if err != nil {
			return nil, err
		}
	}
}

// Append adds lines. When it returns nil all are on the disk, else none is.
func (s *SaveFile) Append(lines [][]byte) error {
	var b *batch
	for _, l := range lines {
		b = s.store.join(l, func(int64, error) {})
	}
	if b == nil {
		return nil
	}
	return s.store.wait(b)
}

// Close closes the file. Nothing can be appended after it.
func (s *SaveFile) Close() error {
	s.store.write.Lock()
	defer s.store.write.Unlock()
	if s.store.file == nil {
		return nil
	}
	return errors.Join(s.store.close(), s.held.Close())
}
