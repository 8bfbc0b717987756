// Package man holds the manual pages. Its tests hold pages and program together.
package man

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A page is one manual page, as its lines of mdoc.
type page struct {
	name  string // such as "sr_post(1)"
	file  string
	lines []string
}

// pages reads all pages of this directory.
func pages(t *testing.T) []page {
	t.Helper()
	files, err := filepath.Glob("*.[1-8]")
	if err != nil || len(files) == 0 {
		t.Fatalf("no pages here: %v", err)
	}
	var out []page
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		base, section, _ := strings.Cut(f, ".")
		out = append(out, page{base + "(" + section + ")", f, strings.Split(string(data), "\n")})
	}
	return out
}

// find is the page of that name.
func find(t *testing.T, name string) page {
	t.Helper()
	for _, p := range pages(t) {
		if p.name == name {
			return p
		}
	}
	t.Fatalf("no page %s", name)
	return page{}
}

// section is the lines below a heading, up to the next.
func (p page) section(heading string) []string {
	var out []string
	in := false
	for _, l := range p.lines {
		if h, ok := strings.CutPrefix(l, ".Sh "); ok {
			in = h == heading
			continue
		}
		if in {
			out = append(out, l)
		}
	}
	return out
}

// plain joins lines of mdoc without their macros, as a reader sees them.
func plain(lines []string) string {
	var words []string
	for _, l := range lines {
		f := strings.Fields(l)
		if len(f) > 0 && strings.HasPrefix(f[0], ".") {
			f = f[1:]
		}
		words = append(words, f...)
	}
	s := strings.Join(words, " ") + " "
	for _, mark := range []string{".", ",", ";", ":"} {
		s = strings.ReplaceAll(s, " "+mark+" ", mark+" ")
	}
	return strings.TrimSpace(s)
}
