package fetch

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Sweep removes what fetches that were interrupted have left and nobody has gone on with since a time: the word and
// the temporary file it is about, and nothing else. It returns the paths of the files. A fetch under way is never
// swept, for it holds the lock of its file.
func (p *Partials) Sweep(before time.Time) (swept []string, err error) {
	words, err := os.ReadDir(p.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, w := range words {
		fi, ferr := w.Info()
		if ferr != nil || !fi.Mode().IsRegular() || !fi.ModTime().Before(before) {
			continue
		}
		word := filepath.Join(p.Dir, w.Name())
		if strings.HasSuffix(word, unfinished) {
			err = errors.Join(err, os.Remove(word))
			continue
		}
		path, serr := sweepWord(word)
		if path != "" {
			swept = append(swept, path)
		}
		err = errors.Join(err, serr)
	}
	return swept, err
}

// sweepWord removes a word after its file, of which it returns the path if it was there.
func sweepWord(word string) (path string, err error) {
	text, err := os.ReadFile(word)
	if err != nil {
		return "", err
	}
	var p partial
	if json.Unmarshal(text, &p) == nil {
		path, err = p.sweepTemp()
	}
	switch {
	case errors.Is(err, errBusy):
		return "", nil
	case err != nil:
		return "", err
	}
	return path, os.Remove(word)
}

// sweepTemp removes the temporary file a word is about, unless it is another's by now.
func (p *partial) sweepTemp() (path string, err error) {
	root, err := os.OpenRoot(p.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer root.Close()
	f, err := root.OpenFile(p.Temp, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ELOOP) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if id, err := idOf(int(f.Fd()), ""); err != nil || id != p.File {
		return "", err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return "", errBusy
	}
	return filepath.Join(p.Root, p.Temp), root.Remove(p.Temp)
}
