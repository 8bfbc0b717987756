package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A scan has fetched files looked at before they have their names. What is infected is copied to the
// directory infected of the state, and dropped.
type scan struct {
	*command
	env  Env
	kept string // directory of what is infected

	mu sync.Mutex // held while something is added to it
}

// mostInfected is how many infected files are kept, the latest ones.
const mostInfected = 100

func newScan(env Env) (Hook, error) {
	const option = "part_clamav_scan_command"
	words, err := splitWords(env.Own.String(option))
	if err != nil {
		return nil, err
	}
	if _, missing := exec.LookPath(words[0]); missing != nil && len(env.Unknown[option]) == 0 {
		words = []string{"clamscan", "--no-summary"} // slower, and needs no server
	}
	if !strings.Contains(strings.Join(words, " "), "${file}") {
		words = append(words, "${file}")
	}
	h, err := newCommand(words, env)
	if err != nil {
		return nil, err
	}
	return &scan{command: h.(*command), env: env, kept: filepath.Join(env.State, "infected")}, nil
}

// Run has one file looked at.
func (s *scan) Run(ctx context.Context, e *Event) (bool, error) {
	clean, err := s.command.Run(ctx, e)
	if clean || err != nil {
		return clean, err
	}
	kept, err := s.keep(e)
	if err != nil {
		return false, fmt.Errorf("cannot keep an infected file: %w", err)
	}
	s.env.Log.Error("infected", "path", e.Announcement.Path, "base", show(e, nil).BaseURL, "file", kept)
	return false, nil
}

// keep copies a file, and the path it was announced by, where nobody runs it.
func (s *scan) keep(e *Event) (path string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.makeRoom(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(s.kept, 0o700); err != nil {
		return "", err
	}
	from, err := os.Open(e.Local)
	if err != nil {
		return "", err
	}
	defer from.Close()
	to, err := os.CreateTemp(s.kept, "file-*")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	if err == nil {
		err = to.Sync()
	}
	err = errors.Join(err, to.Close())
	if err == nil {
		err = os.WriteFile(to.Name()+".name", []byte(e.Announcement.Path+"\n"), 0o600)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(to.Name()))
	}
	return to.Name(), nil
}

// makeRoom removes the oldest of what is kept, so that there is room for one more.
func (s *scan) makeRoom() error {
	entries, err := os.ReadDir(s.kept)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && !strings.HasSuffix(e.Name(), ".name") {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for len(files) >= mostInfected {
		path := filepath.Join(s.kept, files[0].Name())
		if err := errors.Join(os.Remove(path), ignoreMissing(os.Remove(path+".name"))); err != nil {
			return err
		}
		files = files[1:]
	}
	return nil
}
