package fetch

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"srpump/pump/transfer"
)

func symlink(t testing.TB, tree *Tree, target, rel string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(tree.Dir(), rel)); err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsWrittenOutside(t *testing.T) {
	tree, in := openTree(t, TreeOptions{}), installer(t, SyncOff)
	outside := t.TempDir()
	symlink(t, tree, outside, "out")
	symlink(t, tree, "../../..", "up")
	symlink(t, tree, "loop", "loop")
	if err := os.Mkdir(filepath.Join(tree.Dir(), "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	symlink(t, tree, "in", "inside")
	for _, rel := range []string{"..", "../x", "/x", "a/../../x", "a//b", "", ".", "a/", "a\x00b", "./x"} {
		wantClass(t, put(t, in, job(t, tree, rel, []byte("x"))), Hopeless, "it is no path below")
		wantClass(t, await(func(d func(error)) { in.Remove(tree, rel, d) }), Hopeless, "it is no path below")
		wantClass(t, await(func(d func(error)) { in.Link(tree, rel, "x", d) }), Hopeless, "it is no path below")
		wantClass(t, await(func(d func(error)) { in.Mkdir(tree, rel, d) }), Hopeless, "it is no path below")
	}
	for _, rel := range []string{"out/x", "out/deep/x", "up/x"} {
		wantClass(t, put(t, in, job(t, tree, rel, []byte("x"))), Hopeless, "its directory is a symbolic link that leaves")
		wantClass(t, await(func(d func(error)) { in.Link(tree, rel, "x", d) }), Hopeless, "a symbolic link that leaves")
		wantClass(t, await(func(d func(error)) { in.Remove(tree, rel, d) }), Hopeless, "a symbolic link that leaves")
	}
	if err := put(t, in, job(t, tree, "loop/x", nil)); err == nil {
		t.Error("written through a loop")
	}
	if err := put(t, in, job(t, tree, "inside/x", []byte("x"))); err != nil {
		t.Errorf("a link within the tree: %v", err)
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("%s was written outside", left[0].Name())
	}
	only(t, tree, "in/x", "inside", "loop", "out", "up")
}

// A directory that is swapped for a link while we have it open is not written into any more.
func TestDirectorySwappedForALink(t *testing.T) {
	tree, in := openTree(t, TreeOptions{}), installer(t, SyncGroup)
	if err := put(t, in, job(t, tree, "a/x", []byte("x"))); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(filepath.Join(tree.Dir(), "a"), outside); err != nil {
		t.Fatal(err)
	}
	if err := put(t, in, job(t, tree, "a/y", []byte("y"))); err != nil {
		t.Fatal(err)
	}
	only(t, tree, "a/y")
	os.RemoveAll(filepath.Join(tree.Dir(), "a"))
	symlink(t, tree, outside, "a")
	// Even when the link leads to what had been the tree's own directory.
	wantClass(t, put(t, in, job(t, tree, "a/z", []byte("z"))), Hopeless, "leaves")
	if _, err := os.Stat(filepath.Join(outside, "z")); err == nil {
		t.Error("written outside")
	}
}

func TestFinalAndTemporaryLinksAreReplacedNotFollowed(t *testing.T) {
	tree, in := openTree(t, TreeOptions{}), installer(t, SyncGroup)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, temp := Inflight{}.Name("x", "test")
	symlink(t, tree, victim, "x")
	symlink(t, tree, victim, temp)
	if err := put(t, in, job(t, tree, "x", []byte("new"))); err != nil {
		t.Fatal(err)
	}
	holds(t, tree, "x", []byte("new"))
	if err := os.Link(victim, filepath.Join(tree.Dir(), temp)); err != nil {
		t.Fatal(err)
	}
	if err := put(t, in, job(t, tree, "x", []byte("newer"))); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(victim); string(got) != "precious" {
		t.Errorf("the victim holds %q", got)
	}
	only(t, tree, "x")
}

func TestNames(t *testing.T) {
	tree, in := openTree(t, TreeOptions{}), installer(t, SyncOff)
	long := strings.Repeat("n", 255)
	accents := strings.Repeat("é", 127)
	for _, form := range []string{"", ".", ".tmp", "in/"} {
		i, err := ParseInflight(form)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{long, accents, "with blank", "\xff\xfe", "new\nline", "-"} {
			j := job(t, tree, name, []byte(name))
			j.Inflight = i
			if err := put(t, in, j); err != nil {
				t.Errorf("inflight %q: %v", form, err)
			}
			holds(t, tree, name, []byte(name))
		}
	}
	wantClass(t, put(t, in, job(t, tree, long+"n", nil)), Hopeless, "the name is too long")
	wantClass(t, put(t, in, job(t, tree, "a/"+long+"n/b", nil)), Hopeless, "the name is too long")
	wantClass(t, put(t, in, job(t, tree, strings.Repeat("abc/", 1024)+"x", nil)), Hopeless, "the name is too long")
	for _, bad := range []string{"tmp", "../", "/", "./", "a/b/", "300", ".a/b"} {
		if _, err := ParseInflight(bad); err == nil {
			t.Errorf("inflight %q is accepted", bad)
		}
	}
}

func TestLongNamesKeepTheirOwnTemporaryNames(t *testing.T) {
	a, b := strings.Repeat("n", 250)+"aaaaa", strings.Repeat("n", 250)+"bbbbb"
	for _, i := range []Inflight{{}, {"."}, {".tmp"}} {
		_, x := i.Name(a, "t")
		_, y := i.Name(b, "t")
		if x == y || len(x) > maxName || len(y) > maxName {
			t.Errorf("%q: %q and %q", i.form, x, y)
		}
	}
}

func TestDirectoriesInTheWay(t *testing.T) {
	tree, in := openTree(t, TreeOptions{}), installer(t, SyncGroup)
	if err := put(t, in, job(t, tree, "dir/file", []byte("x"))); err != nil {
		t.Fatal(err)
	}
	wantClass(t, put(t, in, job(t, tree, "dir", []byte("x"))), Blocked, "a directory stands there")
	wantClass(t, put(t, in, job(t, tree, "dir/file/below", []byte("x"))), Blocked, "a file stands where its directory should be")
	wantClass(t, await(func(d func(error)) { in.Link(tree, "dir", "x", d) }), Blocked, "a directory stands there")
	wantClass(t, await(func(d func(error)) { in.Remove(tree, "dir", d) }), Blocked, "the directory is not empty")
	only(t, tree, "dir/file")
}

// Where the filesystem has no files without a name, they have temporary ones.
func TestLeftOverIsTakenOverAndALivingOneIsNot(t *testing.T) {
	tree, in := openTree(t, TreeOptions{}), installer(t, SyncOff)
	tree.namedOnly.Store(true)
	j := job(t, tree, "x", []byte("new"))
	first, err := Fetch(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Fetch(t.Context(), j)
	wantClass(t, err, Temporary, "another process is fetching it")
	if err := await(func(d func(error)) { in.Install(first, d) }); err != nil {
		t.Fatal(err)
	}
	_, temp := Inflight{}.Name("x", "test")
	if err := os.WriteFile(filepath.Join(tree.Dir(), temp), []byte("left by a killed process, and longer"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := put(t, in, j); err != nil {
		t.Fatal(err)
	}
	holds(t, tree, "x", []byte("new"))
	only(t, tree, "x")
}

// An announced file may be called like another's temporary file. Its bytes must
// not appear under the other's name, and it must not be removed.
func TestTemporaryNameTakenByAnotherFile(t *testing.T) {
	tree, in := openTree(t, TreeOptions{}), installer(t, SyncOff)
	tree.namedOnly.Store(true)
	first, err := Fetch(t.Context(), job(t, tree, "x", []byte("right")))
	if err != nil {
		t.Fatal(err)
	}
	_, temp := Inflight{}.Name("x", "test")
	if err := put(t, in, job(t, tree, temp, []byte("wrong"))); err != nil {
		t.Fatal(err)
	}
	err = await(func(d func(error)) { in.Install(first, d) })
	wantClass(t, err, Temporary, "was replaced by another")
	only(t, tree, temp)
}

// A file has no name before it is complete; what stands under its final name, or
// was left under its temporary one, is replaced.
func TestUnnamed(t *testing.T) {
	tree, in := openTree(t, TreeOptions{}), installer(t, SyncGroup)
	first, err := Fetch(t.Context(), job(t, tree, "x", []byte("one")))
	if err != nil {
		t.Fatal(err)
	}
	if tree.namedOnly.Load() {
		t.Skip("the temporary directory's filesystem has no files without a name")
	}
	only(t, tree)
	if got, err := os.ReadFile(first.TempPath()); err != nil || string(got) != "one" {
		t.Errorf("staged %q, %v", got, err)
	}
	if err := await(func(d func(error)) { in.Install(first, d) }); err != nil {
		t.Fatal(err)
	}
	_, temp := Inflight{}.Name("x", "test")
	if err := os.WriteFile(filepath.Join(tree.Dir(), temp), []byte("left by a killed process"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := put(t, in, job(t, tree, "x", []byte("two"))); err != nil {
		t.Fatal(err)
	}
	holds(t, tree, "x", []byte("two"))
	if err := os.Mkdir(filepath.Join(tree.Dir(), "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	wantClass(t, put(t, in, job(t, tree, "d", []byte("x"))), Blocked, "a directory stands there")
	gone, err := Fetch(t.Context(), job(t, tree, "y", []byte("y")))
	if err != nil {
		t.Fatal(err)
	}
	gone.Discard()
	only(t, tree, "x")
}

// full is a tree on a filesystem of 256 KiB, or skips where none may be mounted.
func full(t *testing.T) *Tree {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k,nr_inodes=20"); err != nil {
		t.Skipf("a small filesystem cannot be mounted: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	tree, err := OpenTree(dir, TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree
}

func TestDiskFull(t *testing.T) {
	tree, in := full(t), installer(t, SyncGroup)
	if err := put(t, in, job(t, tree, "old", []byte("old"))); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{400_000, 3 << 20} {
		wantClass(t, put(t, in, job(t, tree, "old", make([]byte, n))), Temporary, "disk full on")
	}
	holds(t, tree, "old", []byte("old"))
	only(t, tree, "old")
}

func TestReadOnly(t *testing.T) {
	tree, in := full(t), installer(t, SyncGroup)
	if err := put(t, in, job(t, tree, "old", []byte("old"))); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", tree.Dir(), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skipf("it cannot be made read-only: %v", err)
	}
	wantClass(t, put(t, in, job(t, tree, "new", []byte("new"))), Temporary, "is read-only")
	wantClass(t, put(t, in, job(t, tree, "a/new", []byte("new"))), Temporary, "is read-only")
	wantClass(t, await(func(d func(error)) { in.Remove(tree, "old", d) }), Temporary, "is read-only")
}

// Many workers, few directories kept open, more directories than that.
func TestManyDirectoriesAtOnce(t *testing.T) {
	tree, in := openTree(t, TreeOptions{KeepOpen: 3}), installer(t, SyncGroup)
	g, url := source(t, []byte("data"))
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 40 {
				rel := strings.Repeat("d/", 1+i%10) + string(rune('a'+i%7)) + "/" + string(rune('A'+w)) + string(rune('a'+i%26))
				if i%5 == 4 {
					if err := await(func(d func(error)) { in.Remove(tree, rel, d) }); err != nil {
						t.Error(err)
					}
					continue
				}
				s, err := Fetch(t.Context(), Job{Source: g, Request: transfer.Whole(url + "/x"), Tree: tree, Path: rel, Size: 4, Sum: md5Of([]byte("data"))})
				if err != nil {
					t.Error(err)
					continue
				}
				if err := await(func(d func(error)) { in.Install(s, d) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(tree.cache.dirs); n > 3 {
		t.Errorf("%d directories are kept open", n)
	}
}

func TestLinksAndRemovals(t *testing.T) {
	for _, sync := range []Sync{SyncGroup, SyncEach, SyncOff} {
		in, tree := installer(t, sync), openTree(t, TreeOptions{})
		link := func(rel, to string) error { return await(func(d func(error)) { in.Link(tree, rel, to, d) }) }
		remove := func(rel string) error { return await(func(d func(error)) { in.Remove(tree, rel, d) }) }
		mkdir := func(rel string) error { return await(func(d func(error)) { in.Mkdir(tree, rel, d) }) }
		for _, to := range []string{"one", "two", "/etc", "../../out"} {
			if err := link("a/link", to); err != nil {
				t.Error(err)
			}
			if got, _ := os.Readlink(filepath.Join(tree.Dir(), "a/link")); got != to {
				t.Errorf("the link leads to %q, want %q", got, to)
			}
		}
		wantClass(t, put(t, in, job(t, tree, "a/link/x", nil)), Hopeless, "leaves")
		for _, rel := range []string{"a/link", "a/link", "b/c/none", "a"} {
			if err := remove(rel); err != nil {
				t.Error(err)
			}
		}
		if err := mkdir("m/n"); err != nil || mkdir("m/n") != nil || remove("m/n") != nil || remove("m") != nil {
			t.Errorf("directories: %v", err)
		}
		left, err := os.ReadDir(tree.Dir())
		if err != nil || len(left) > 0 {
			t.Errorf("left are %v, %v", left, err)
		}
	}
	tree, in := openTree(t, TreeOptions{RefuseOutsideLinks: true}), installer(t, SyncOff)
	for to, ok := range map[string]bool{"x": true, "../x": true, "../../x": false, "/x": false, "b/../../../x": false} {
		err := await(func(d func(error)) { in.Link(tree, "a/l", to, d) })
		if (err == nil) != ok {
			t.Errorf("link to %q: %v", to, err)
		}
	}
}

func TestParseSync(t *testing.T) {
	for text, want := range map[string]Sync{"": SyncGroup, "group": SyncGroup, "each": SyncEach, "off": SyncOff} {
		if got, err := ParseSync(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := ParseSync("on"); err == nil {
		t.Error("fsync on is accepted")
	}
}
