package fetch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// interrupted begins to fetch files, and is killed: the temporary files stay, and nobody holds them.
func interrupted(t *testing.T, tree *Tree, names *Names, form string, paths ...string) (temps []string) {
	t.Helper()
	i, err := ParseInflight(form)
	must(t, err)
	for _, path := range paths {
		s, err := tree.stage(path, i, "test", 0o600, true)
		must(t, err)
		names.add(s)
		temps = append(temps, s.TempPath())
		must(t, s.f.Close())
	}
	return temps
}

// Left-overs of small files are swept by age, whatever form their names have, also by a later process; not while
// somebody fetches, nor what another put in their place, nor anything else.
func TestSweepNames(t *testing.T) {
	for _, form := range []string{"auto", ".", ".tmp", "sub/"} {
		t.Run(form, func(t *testing.T) {
			tree, path := openTree(t, TreeOptions{}), filepath.Join(t.TempDir(), "state/inflight")
			names := NewNames(path)
			later := time.Now().Add(time.Hour)
			temps := interrupted(t, tree, names, form, "a", "d/b", "d/\xff", "replaced")
			must(t, os.Remove(temps[3]))
			must(t, os.WriteFile(temps[3]+"x", nil, 0o600)) // so that the number comes not again where births are not known
			must(t, os.WriteFile(temps[3], []byte("precious"), 0o600))
			must(t, names.Close())
			appendTo(t, path, []byte(`{"Root":"L3Rtc`)) // as a kill leaves it
			names = NewNames(path)
			s, err := tree.stage("living", Inflight{form: ".living"}, "test", 0o600, true)
			must(t, err)
			names.add(s)
			sweepNames(t, names, time.Now().Add(-time.Hour))
			sweepNames(t, names, later, temps[:3]...)
			holds(t, tree, relTo(t, tree, temps[3]), []byte("precious"))
			s.Discard()
			sweepNames(t, names, later)
			if text, err := os.ReadFile(path); err != nil || len(text) > 0 {
				t.Errorf("remembered: %q, %v", text, err)
			}
		})
	}
}

func relTo(t *testing.T, tree *Tree, path string) string {
	rel, err := filepath.Rel(tree.Dir(), path)
	must(t, err)
	return rel
}

func sweepNames(t *testing.T, names *Names, before time.Time, want ...string) {
	t.Helper()
	if swept, err := names.Sweep(before); err != nil || !slices.Equal(swept, want) {
		t.Errorf("swept %q, %v; want %q", swept, err, want)
	}
}

// However many files there were, few names are kept, and those of the files that are there are among them.
func TestNamesStayFew(t *testing.T) {
	tree, path := openTree(t, TreeOptions{}), filepath.Join(t.TempDir(), "inflight")
	names := NewNames(path)
	names.most = 20
	temps := interrupted(t, tree, names, ".tmp", "left")
	for n := range 2 * manyNames {
		s, err := tree.stage(fmt.Sprint("f", n), Inflight{form: ".tmp"}, "test", 0o600, true)
		must(t, err)
		names.add(s)
		s.Discard()
	}
	text, err := os.ReadFile(path)
	if n := bytes.Count(text, []byte("\n")); err != nil || n > manyNames+1 {
		t.Errorf("%d lines, %v", n, err)
	}
	sweepNames(t, names, time.Now().Add(time.Hour), temps...)
}

// A fetch remembers the name it gives to a file, and only that: one without a name leaves nothing.
func TestFetchRemembersNames(t *testing.T) {
	r := newResuming(t, &cutting{data: noise(1)})
	if f, err := r.tree.unnamed(r.tree.top, 0o600); f == nil {
		t.Skip("the filesystem has no files without a name: ", err)
	} else {
		f.Close()
	}
	path := filepath.Join(t.TempDir(), "inflight")
	r.job.Names, r.job.Partials = NewNames(path), nil
	remembered := func(want int) *Staged {
		s, err := Fetch(t.Context(), r.job)
		must(t, err)
		text, _ := os.ReadFile(path)
		if n := bytes.Count(text, []byte("\n")); n != want {
			t.Errorf("%d names, want %d", n, want)
		}
		return s
	}
	r.job.Named = true
	remembered(1).Discard()
	r.job.Named = false
	if s := remembered(1); s.named {
		t.Error("a name that is not needed")
	} else {
		s.Discard()
	}
	must(t, r.job.Names.Close())
}
