package man

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"srpump/pipeline/sfm/platform"
)

// The types sfm_types(7) describes are those there are, and each option a type asks for has its
// entry there.
func TestTypes(t *testing.T) {
	page := find(t, "sfm_types(7)")
	var described, options []string
	for _, l := range page.section("TYPES") {
		if names, ok := strings.CutPrefix(l, ".Ss "); ok && !strings.HasPrefix(names, "Types that") {
			described = append(described, strings.Split(names, " , ")...)
		}
	}
	for _, l := range page.lines {
		if name, ok := strings.CutPrefix(l, ".It Cm "); ok {
			options = append(options, name)
		}
	}
	var are []string
	for _, kind := range platform.Types() {
		are = append(are, kind.Name)
	}
	slices.Sort(are)
	slices.Sort(described)
	if !slices.Equal(described, are) {
		t.Errorf("described are %q, not %q", described, are)
	}
	asked := regexp.MustCompile(`(?:\.Flag\(|\.Option\(|amount\(w, |duration\(w, |Options\[)"(\w+)"`)
	for path, text := range sources(t, "../pipeline/sfm/platform/*.go") {
		for _, m := range asked.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(options, m[1]) {
				t.Errorf("%s asks for the option %s, which has no entry", path, m[1])
			}
		}
	}
}

// sources are the files of a pattern that are part of the program.
func sources(t *testing.T, pattern string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	out := make(map[string]string)
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[f] = string(data)
	}
	return out
}
