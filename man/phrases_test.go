package man

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rooms are the packages whose log operators read.
var rooms = []string{"../pipeline", "../pump", "../post/watch", "../winnow", "../cmd/internal/cli"}

// source is the text of all Go files of the rooms that are part of the program.
func source(t *testing.T) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, room := range rooms {
		err := filepath.WalkDir(room, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && strings.HasSuffix(d.Name(), "test") {
				return filepath.SkipDir
			}
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				data, err := os.ReadFile(path)
				out[path] = string(data)
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// diagnosed are the phrases of all DIAGNOSTICS sections, with the pages they stand in.
func diagnosed(t *testing.T) map[string]string {
	out := make(map[string]string)
	for _, p := range pages(t) {
		for _, l := range p.section("DIAGNOSTICS") {
			if phrase, ok := strings.CutPrefix(l, ".It "); ok {
				out[phrase] = p.file
			}
		}
	}
	return out
}

// A phrase a page explains is one the program says, and one the program says at
// info or above is explained.
func TestPhrases(t *testing.T) {
	said := regexp.MustCompile(`(?i:log|logger|trouble|installed)(?:\.(?:Info|Warn|Error))?\((?:ctx, j, )?"([^"]+)"`)
	pages := diagnosed(t)
	code := source(t)
	for path, text := range code {
		for _, m := range said.FindAllStringSubmatch(text, -1) {
			if pages[m[1]] == "" {
				t.Errorf("%s logs %q, which no page explains", path, m[1])
			}
		}
	}
	for phrase, page := range pages {
		if !holds(code, `"`+phrase+`"`) {
			t.Errorf("%s explains %q, which nobody says", page, phrase)
		}
	}
}

func holds(code map[string]string, text string) bool {
	for _, c := range code {
		if strings.Contains(c, text) {
			return true
		}
	}
	return false
}
