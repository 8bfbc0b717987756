package watch

import (
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"
)

// A tree moved in has no events of its own for what lies in it.
func TestMovedIn(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		root, l := o.Roots[0], newLedger()
		outside := t.TempDir() + "/tree"
		mkdir(t, outside+"/deep/er")
		for i := range 300 {
			write(t, fmt.Sprintf("%s/deep/er/f%d", outside, i), "x")
		}
		start(t, o, l.emit)
		must(t, os.Rename(outside, root+"/tree"))
		l.awaitTree(t, root)
	})
}

// The kernel's watches follow a renamed directory and its children, and go on
// telling the old names, unless they are set again.
func TestRenamedDirectory(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		root, l := o.Roots[0], newLedger()
		mkdir(t, root+"/a/sub")
		start(t, o, l.emit)
		write(t, root+"/a/sub/one", "1")
		l.awaitTree(t, root)
		must(t, os.Rename(root+"/a", root+"/b"))
		l.awaitTree(t, root)
		write(t, root+"/b/sub/two", "22")
		write(t, root+"/b/three", "333")
		l.awaitTree(t, root)
		mkdir(t, root+"/a/sub")
		write(t, root+"/a/sub/one", "4444")
		must(t, os.Remove(root+"/b/sub/one"))
		l.awaitTree(t, root)
	})
}

// There and back, and a new directory under the old name, at full speed.
func TestRenamedToAndFro(t *testing.T) {
	root, l := t.TempDir(), newLedger()
	mkdir(t, root+"/a/sub")
	start(t, Options{Roots: []string{root}, Settle: 50 * time.Millisecond}, l.emit)
	for i := range 50 {
		must(t, os.Rename(root+"/a", root+"/b"))
		write(t, fmt.Sprintf("%s/b/sub/f%d", root, i), "x")
		mkdir(t, root+"/a/sub")
		write(t, fmt.Sprintf("%s/a/sub/g%d", root, i), "y")
		must(t, os.RemoveAll(root+"/a"))
		must(t, os.Rename(root+"/b", root+"/a"))
	}
	l.awaitTree(t, root)
	write(t, root+"/a/sub/last", "z")
	l.awaitTree(t, root)
}

func TestRootDeletedAndMadeAgain(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		root, l := o.Roots[0]+"/root", newLedger()
		o.Roots = []string{root}
		mkdir(t, root+"/d")
		start(t, o, l.emit)
		write(t, root+"/d/f", "x")
		l.awaitTree(t, root)
		must(t, os.RemoveAll(root))
		l.await(t, "the root gone", func() bool { return len(l.files) == 0 && l.gone[root] > 0 })
		mkdir(t, root+"/d")
		write(t, root+"/d/f", "yy")
		l.awaitTree(t, root)
		write(t, root+"/d/g", "zzz")
		l.awaitTree(t, root)
	})
}

func TestRootThatIsAFile(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		file, l := o.Roots[0]+"/f", newLedger()
		o.Roots = []string{file}
		write(t, file, "x")
		start(t, o, l.emit)
		write(t, file+".tmp", "yy")
		must(t, os.Rename(file+".tmp", file))
		l.await(t, "the new content", func() bool { return l.files[file] == 2 })
		must(t, os.Remove(file))
		l.await(t, "the removal", func() bool { return l.gone[file] == 1 })
	})
}

// Overlapping roots and links that lead back: each directory once.
func TestWatchedOnce(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		root, l := o.Roots[0], newLedger()
		mkdir(t, root+"/d/e")
		must(t, os.Symlink("..", root+"/d/up"))
		outside := t.TempDir()
		must(t, os.Symlink(outside, root+"/out"))
		o.Follow = true
		w := start(t, o, l.emit)
		write(t, outside+"/f", "x")
		write(t, root+"/d/e/g", "x")
		l.await(t, "both files", func() bool {
			return l.times[root+"/out/f"] == 1 && l.times[root+"/d/e/g"] == 1 && len(l.files) == 2
		})
		if n := w.Stats().Watched; !o.Poll && n != 4 {
			t.Errorf("%d directories watched, want 4", n)
		}
	})
}

// Links are entries; what they lead to is not entered unless asked.
func TestLinkIsAnEntry(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		root, l := o.Roots[0], newLedger()
		start(t, o, l.emit)
		must(t, os.Symlink("/nowhere", root+"/l"))
		must(t, os.Symlink(t.TempDir(), root+"/d"))
		must(t, syscall.Mkfifo(root+"/fifo", 0o644))
		write(t, root+"/bad\xff\x01\nname", "x")
		l.await(t, "two links and a file", func() bool { return len(l.files) == 3 })
		for _, e := range l.events {
			if e.Path == root+"/l" && e.Info.Mode()&os.ModeSymlink == 0 {
				t.Error("the link's info is not the link's")
			}
		}
	})
}

// A file becomes a directory, and that a file again.
func TestFileBecomesDirectory(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		root, l := o.Roots[0], newLedger()
		start(t, o, l.emit)
		write(t, root+"/x", "file")
		l.awaitTree(t, root)
		must(t, os.Remove(root+"/x"))
		mkdir(t, root+"/x")
		write(t, root+"/x/in", "inner")
		l.awaitTree(t, root)
		must(t, os.RemoveAll(root+"/x"))
		write(t, root+"/x", "file again")
		l.awaitTree(t, root)
	})
}

// Whatever is done to a tree, applying the events gives the tree.
func TestModel(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		o.Settle = 10 * time.Millisecond
		for seed := range uint64(8) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				o := o
				o.Roots = []string{t.TempDir()}
				r, l := rand.New(rand.NewPCG(seed, 9)), newLedger()
				start(t, o, l.emit)
				for range 4 {
					for range 1 + r.IntN(200) {
						step(r, o.Roots[0])
					}
					l.awaitTree(t, o.Roots[0])
				}
			})
		}
	})
}

// step does one random thing, which may fail: the names are few, so that they
// meet.
func step(r *rand.Rand, root string) {
	path := root
	for range 1 + r.IntN(3) {
		path += "/" + string("abc"[r.IntN(3)])
	}
	other := root + "/" + []string{"a", "b", "c", "a/b", "b/c", "c/a"}[r.IntN(6)]
	switch r.IntN(7) {
	case 0, 1:
		_ = os.MkdirAll(path, 0o755)
	case 2, 3:
		_ = os.WriteFile(path, make([]byte, r.IntN(10)), 0o644)
	case 4:
		_ = os.RemoveAll(path)
	default:
		_ = os.Rename(path, other)
	}
}

// Of a file whose attributes changed and that is not there any more, nothing is said before the kernel has told why:
// it may have been renamed.
func TestAttributesOfWhatIsGone(t *testing.T) {
	w, err := New(Options{Roots: []string{t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	path := w.o.Roots[0] + "/f"
	w.known.put(path, false)
	if got := w.judge(&entry{path: path, marks: attrib}, nil); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if got := w.judge(&entry{path: path, marks: attrib | gone}, nil); len(got) != 1 || got[0].Op != Removed {
		t.Errorf("%v, not a removal", got)
	}
}
