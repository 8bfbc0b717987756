package pump

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// What a watcher had noticed but not announced when it was stopped is remembered in a
// file of names, each ended by NUL, and announced first at the next start.

func (p *Poster) pendingFile() string { return filepath.Join(p.cfg.State().Dir(), "pending") }

// remember keeps names for the next start; none removes the file.
func (p *Poster) remember(names []string) error {
	if len(names) == 0 {
		if err := os.Remove(p.pendingFile()); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	err := os.MkdirAll(filepath.Dir(p.pendingFile()), 0o775)
	if err == nil {
		tmp := p.pendingFile() + ".new"
		if err = os.WriteFile(tmp, []byte(strings.Join(names, "\x00")+"\x00"), 0o600); err == nil {
			err = os.Rename(tmp, p.pendingFile())
		}
	}
	if err != nil {
		return fmt.Errorf("cannot remember %d paths not announced: %w", len(names), err)
	}
	return nil
}

// remembered are the names the last run left.
func (p *Poster) remembered() ([]string, error) {
	b, err := os.ReadFile(p.pendingFile())
	if errors.Is(err, fs.ErrNotExist) || len(b) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read what the last run left: %w", err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00"), nil
}
