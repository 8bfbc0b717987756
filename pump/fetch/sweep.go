package fetch

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
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
		path, serr := sweepWord(word, before)
		if path != "" {
			swept = append(swept, path)
		}
		err = errors.Join(err, serr)
	}
	return swept, err
}

// sweepWord removes a word after its file, of which it returns the path if it was there.
func sweepWord(word string, before time.Time) (path string, err error) {
	text, err := os.ReadFile(word)
	if err != nil {
		return "", err
	}
	var p partial
	if json.Unmarshal(text, &p) == nil {
		path, err = p.sweep(before)
	}
	switch {
	case errors.Is(err, errBusy):
		return "", nil
	case err != nil:
		return "", err
	}
	return path, os.Remove(word)
}
