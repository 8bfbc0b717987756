package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

// Attendance is a spool that a program serves: it has the directories, and no second one of the
// program works in it.
type Attendance struct {
	lock    *os.File
	Changes *fsnotify.Watcher // of the first directory
}

// Attend makes the directories of a spool, takes it for a program until it is closed, and watches the
// first of them, where requests come in.
func Attend(dir, program string, in string, others ...string) (*Attendance, error) {
	for _, name := range append([]string{in}, others...) {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o775); err != nil {
			return nil, fmt.Errorf("cannot make the spool: %w", err)
		}
	}
	in = filepath.Join(dir, in)
	lock, err := os.OpenFile(filepath.Join(in, "."+program+lockName), os.O_RDWR|os.O_CREATE, 0o664)
	if err != nil {
		return nil, fmt.Errorf("cannot serve %q: %w", dir, err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = fmt.Errorf("another %s does", program)
		}
		return nil, fmt.Errorf("cannot serve %q: %w", dir, errors.Join(err, lock.Close()))
	}
	changes, err := fsnotify.NewWatcher()
	if err == nil {
		err = changes.Add(in)
	}
	if err != nil {
		err = fmt.Errorf("cannot watch %q: %w", dir, err)
		if changes != nil {
			err = errors.Join(err, changes.Close())
		}
		return nil, errors.Join(err, lock.Close())
	}
	return &Attendance{lock, changes}, nil
}

// Close lets another serve the spool.
func (a *Attendance) Close() error { return errors.Join(a.Changes.Close(), a.lock.Close()) }

// ForgetBefore removes the files of a directory whose names end in suffix and that were last written
// before a moment.
func ForgetBefore(dir, suffix string, before time.Time) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasSuffix(e.Name(), suffix) && info.ModTime().Before(before) {
			err = os.Remove(filepath.Join(dir, e.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
