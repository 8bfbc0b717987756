package fetch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Names remembers the temporary names that fetches give to files, for Sweep: a line each, in a file that stays short,
// as those whose file has gone are dropped from it. It is not made durable: what a power cut takes from it is not
// swept. Big files have a word of their own, see Partials. A nil Names remembers nothing. Many goroutines may use one
// at once, but one process only.
type Names struct {
	path string

	mu    sync.Mutex
	file  *os.File // nil until there is something to remember
	lines int      // since they were looked through, and those left then
	most  int      // at which they are looked through again
}

// manyNames is how many lines are looked through at least, for few of them name a file that is still there.
const manyNames = 4096

// NewNames remembers in the file at path, which is made, with its directory, when first needed.
func NewNames(path string) *Names { return &Names{path: path, most: manyNames} }

// add remembers the name of a staged file. That it cannot is no failure.
func (n *Names) add(s *Staged) {
	if n == nil || !s.named {
		return
	}
	l, err := s.leftOver()
	if err != nil {
		return
	}
	line, err := json.Marshal(&l)
	if err != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lines >= n.most {
		_, _ = n.sweep(time.Time{})
	}
	if n.file == nil && n.open() != nil {
		return
	}
	if _, err := n.file.Write(append(line, '\n')); err == nil {
		n.lines++
	}
}

func (n *Names) open() (err error) {
	if err = os.MkdirAll(filepath.Dir(n.path), 0o700); err == nil {
		n.file, err = os.OpenFile(n.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	}
	return err
}

// Sweep removes the files that are remembered, are still there and have not been written to since a time, and returns
// their paths. A fetch under way is never swept, for it holds the lock of its file.
func (n *Names) Sweep(before time.Time) (swept []string, err error) {
	if n == nil {
		return nil, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sweep(before)
}

// sweep keeps the lines of files that stay.
func (n *Names) sweep(before time.Time) (swept []string, err error) {
	text, err := os.ReadFile(n.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var stay []byte
	n.lines = 0
	for line := range bytes.Lines(text) {
		var l leftOver
		if json.Unmarshal(line, &l) != nil {
			continue // cut short by a kill
		}
		path, serr := l.sweep(before)
		switch {
		case serr == nil && path != "":
			swept = append(swept, path)
		case serr != nil:
			stay, n.lines = append(stay, line...), n.lines+1
			if !errors.Is(serr, errBusy) {
				err = errors.Join(err, serr)
			}
		}
	}
	n.most = max(manyNames, 2*n.lines)
	return swept, errors.Join(err, n.replace(stay))
}

// replace has the file hold these lines alone.
func (n *Names) replace(text []byte) error {
	if err := os.WriteFile(n.path+unfinished, text, 0o600); err != nil {
		return err
	}
	err := os.Rename(n.path+unfinished, n.path)
	if err == nil {
		err = n.close()
	}
	return err
}

// Close ends the remembering; it goes on with the next name.
func (n *Names) Close() error {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.close()
}

func (n *Names) close() error {
	if n.file == nil {
		return nil
	}
	err := n.file.Close()
	n.file = nil
	return err
}
