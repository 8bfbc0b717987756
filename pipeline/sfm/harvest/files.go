package harvest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"srpump/pipeline/spool"
)

const tempSuffix = ".tmp"

// replaceJSON is spool.Replace with a value, for people to read.
func replaceJSON(path string, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		return err
	}
	return spool.Replace(path, b.Bytes(), 0o664)
}

// readJSON reads a value back.
func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// named are the paths in a directory whose names begin and end so, by name.
func named(dir, prefix, suffix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), suffix) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}
