package blocks

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A Store is the journals of a flow, each in a file called after the place of what it is of. Those of
// files that are done stay for a while: a block that comes once more begins nothing.
type Store struct {
	dir    string
	noSync bool

	mu    sync.Mutex
	known map[string]bool // names without their endings; true: not done
}

const (
	journalEnd = ".journal"
	doneEnd    = ".done"
)

// OpenStore looks which journals there are. The directory is made when the first one is; noSync leaves what is
// written to the kernel.
func OpenStore(dir string, noSync bool) (*Store, error) {
	s := &Store{dir: dir, noSync: noSync, known: make(map[string]bool)}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read journals: %w", err)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), doneEnd); ok && !s.known[name] {
			s.known[name] = false
		}
		if name, ok := strings.CutSuffix(e.Name(), journalEnd); ok {
			s.known[name] = true
		}
	}
	return s, nil
}

func nameOf(full string) string {
	sum := sha256.Sum256([]byte(full))
	return hex.EncodeToString(sum[:16])
}

// Knows reports whether there is a journal of what goes to an absolute path, done or not.
func (s *Store) Knows(full string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.known[nameOf(full)]
	return known
}

func (s *Store) is(name string, open bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, known := s.known[name]
	return known && o == open
}

func (s *Store) set(name string, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[name] = open
}

// Open opens the journal of a file that is not done; the error is fs.ErrNotExist where there is none.
func (s *Store) Open(full string) (*Journal, error) { return s.open(nameOf(full)) }

func (s *Store) open(name string) (*Journal, error) {
	if !s.is(name, true) {
		return nil, fs.ErrNotExist
	}
	return open(filepath.Join(s.dir, name+journalEnd), s.noSync)
}

// Create makes the journal of a file of which nothing is here, durably.
func (s *Store) Create(full string, file File) (*Journal, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot keep journal: %w", err)
	}
	name := nameOf(full)
	j, err := create(filepath.Join(s.dir, name+journalEnd), file, s.noSync)
	if err != nil {
		return nil, fmt.Errorf("cannot keep journal: %w", err)
	}
	s.set(name, true)
	if err := s.syncDir(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot keep journal: %w", err), j.Close())
	}
	return j, nil
}

func (s *Store) syncDir() error {
	if s.noSync {
		return nil
	}
	var errs []error
	for _, dir := range []string{s.dir, filepath.Dir(s.dir)} { // it may be new itself
		d, err := os.Open(dir)
		if err != nil {
			return err
		}
		errs = append(errs, d.Sync(), d.Close())
	}
	return errors.Join(errs...)
}

// Done closes the journal of a file that is in place and announced, and remembers its version. After an error it
// is as it was.
func (s *Store) Done(full string, j *Journal) error {
	name := nameOf(full)
	if err := os.Rename(j.path, filepath.Join(s.dir, name+doneEnd)); err != nil {
		return fmt.Errorf("cannot end journal: %w", err)
	}
	s.set(name, false)
	return j.Close()
}

// OpenDone opens the journal of what was last done of a path, to be read; the error is fs.ErrNotExist where there
// is none, or another one is open.
func (s *Store) OpenDone(full string) (*Journal, error) {
	name := nameOf(full)
	if !s.is(name, false) {
		return nil, fs.ErrNotExist
	}
	return open(filepath.Join(s.dir, name+doneEnd), s.noSync)
}

// Forget removes the journals of a path, open or not, durably.
func (s *Store) Forget(full string) error { return s.remove(nameOf(full), journalEnd, doneEnd) }

// Withdraw removes the journal of a path that is open, durably; what was done before it is known as before.
func (s *Store) Withdraw(full string) error { return s.remove(nameOf(full), journalEnd) }

func (s *Store) remove(name string, ends ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.known[name]; !known {
		return nil
	}
	removed := false
	for _, end := range ends {
		err := os.Remove(filepath.Join(s.dir, name+end))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove journal: %w", err)
		}
		removed = removed || err == nil
	}
	if _, err := os.Lstat(filepath.Join(s.dir, name+doneEnd)); err == nil {
		s.known[name] = false
	} else {
		delete(s.known, name)
	}
	if !removed {
		return nil
	}
	if err := s.syncDir(); err != nil {
		return fmt.Errorf("cannot remove journal: %w", err)
	}
	return nil
}

// Unfinished are the names of the journals that are not done.
func (s *Store) Unfinished() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, open := range s.known {
		if open {
			names = append(names, name)
		}
	}
	return names
}

// OpenNamed opens a journal by its name.
func (s *Store) OpenNamed(name string) (*Journal, error) { return s.open(name) }

// Written is when a journal that is not done was last written.
func (s *Store) Written(name string) (time.Time, error) {
	fi, err := os.Stat(filepath.Join(s.dir, name+journalEnd))
	if err != nil {
		return time.Time{}, err
	}
	return fi.ModTime(), nil
}

// Sweep forgets what was done before a time.
func (s *Store) Sweep(before time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, open := range s.known {
		path := filepath.Join(s.dir, name+doneEnd)
		if fi, err := os.Stat(path); open || err != nil || !fi.ModTime().Before(before) {
			continue
		}
		if os.Remove(path) == nil {
			delete(s.known, name)
		}
	}
}
