package watch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// walked collects what Walk yields, and which paths it found fault with.
func walked(t *testing.T, o WalkOptions, roots ...string) (paths, faults []string) {
	t.Helper()
	o.Fault = func(path string, err error) {
		if !strings.HasPrefix(err.Error(), "cannot read ") {
			t.Errorf("fault %v", err)
		}
		faults = append(faults, path)
	}
	err := Walk(t.Context(), roots, o, func(path string, info fs.FileInfo) error {
		if (info != nil) != o.NeedInfo {
			t.Errorf("info of %q: %v", path, info)
		}
		paths = append(paths, path)
		return nil
	})
	must(t, err)
	slices.Sort(paths)
	return paths, faults
}

func TestWalk(t *testing.T) {
	root := t.TempDir()
	mkdir(t, root+"/d/e")
	write(t, root+"/d/e/f", "x")
	write(t, root+"/g\xff", "x")
	must(t, os.Symlink("d", root+"/link"))
	must(t, os.Symlink("../..", root+"/d/e/loop"))
	must(t, syscall.Mkfifo(root+"/fifo", 0o600))
	for _, c := range []struct {
		why   string
		o     WalkOptions
		roots []string
		want  []string
	}{
		{"links are entries", WalkOptions{}, []string{root}, []string{"/d/e/f", "/d/e/loop", "/g\xff", "/link"}},
		{"with info", WalkOptions{NeedInfo: true}, []string{root + "/d"}, []string{"/d/e/f", "/d/e/loop"}},
		{"links are entered, not in circles", WalkOptions{Follow: true}, []string{root}, []string{"/d/e/f", "/g\xff", "/link/e/f"}},
		{"a root may be a file", WalkOptions{NeedInfo: true}, []string{root + "/d/e/f"}, []string{"/d/e/f"}},
		{"or a link", WalkOptions{}, []string{root + "/link"}, []string{"/link"}},
		{"or a link to be entered", WalkOptions{}, []string{root + "/link/"}, []string{"/link/e/f", "/link/e/loop"}},
		{"skipped", WalkOptions{Skip: func(p string) bool { return strings.HasSuffix(p, "/e") }}, []string{root}, []string{"/g\xff", "/link"}},
	} {
		got, _ := walked(t, c.o, c.roots...)
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], root)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.why, got, c.want)
		}
	}
}

func TestWalkFaults(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/f", "x")
	got, faults := walked(t, WalkOptions{NeedInfo: true}, root+"/none", root)
	if !slices.Equal(got, []string{root + "/f"}) || !slices.Equal(faults, []string{root + "/none"}) {
		t.Errorf("walked %q, faults %q", got, faults)
	}
}

// A directory taken away while it is read is a fault, and no end.
func TestWalkVanishing(t *testing.T) {
	root := t.TempDir()
	for _, d := range []string{"a", "b", "c", "d"} {
		mkdir(t, root+"/"+d)
		write(t, root+"/"+d+"/f", "x")
	}
	var seen, faults int
	o := WalkOptions{NeedInfo: true, Fault: func(string, error) { faults++ }}
	must(t, Walk(t.Context(), []string{root}, o, func(path string, _ fs.FileInfo) error {
		seen++
		return os.RemoveAll(root)
	}))
	if seen != 1 || faults < 3 {
		t.Errorf("%d seen, %d faults", seen, faults)
	}
}

// Deeper than the directories that are held open at once, in one path.
func TestWalkDeep(t *testing.T) {
	root := t.TempDir()
	deep := root + strings.Repeat("/d", walkOpen+50)
	mkdir(t, deep)
	mkdir(t, deep+"/../e")
	write(t, deep+"/f", "x")
	write(t, deep+"/../e/g", "x")
	if got, _ := walked(t, WalkOptions{}, root); len(got) != 2 {
		t.Errorf("walked %q", got)
	}
}

func TestWalkEnds(t *testing.T) {
	root, stop := t.TempDir(), errors.New("enough")
	write(t, root+"/a", "x")
	write(t, root+"/b", "x")
	for _, c := range []struct{ give, want error }{{stop, stop}, {fs.SkipAll, nil}} {
		seen := 0
		err := Walk(t.Context(), []string{root}, WalkOptions{}, func(string, fs.FileInfo) error {
			seen++
			return c.give
		})
		if err != c.want || seen != 1 {
			t.Errorf("%v after %d", err, seen)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Walk(ctx, []string{root}, WalkOptions{}, func(string, fs.FileInfo) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}
