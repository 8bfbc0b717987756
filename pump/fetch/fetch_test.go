package fetch

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/transfer"
)

// source serves data over HTTP at any path; /endless never ends, /short promises more than it sends.
func source(t testing.TB, data []byte) (transfer.Getter, string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/endless":
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		case "/chunked":
			w.(http.Flusher).Flush()
			_, _ = w.Write(data)
		case "/short":
			w.Header().Set("Content-Length", "100000000")
			_, _ = w.Write(data)
		case "/none":
			http.NotFound(w, r)
		default:
			http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(data))
		}
	}))
	g := transfer.NewHTTP(transfer.HTTPOptions{Workers: 4})
	t.Cleanup(func() { g.Close(); s.Close() })
	return g, s.URL
}

func openTree(t testing.TB, o TreeOptions) *Tree {
	t.Helper()
	tree, err := OpenTree(filepath.Join(t.TempDir(), "d"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree
}

func md5Of(data []byte) post.Fingerprint {
	h := md5.New()
	h.Write(data)
	return post.OfHash(post.SumMD5, h)
}

// job fetches data's URL to rel.
func job(t testing.TB, tree *Tree, rel string, data []byte) Job {
	g, url := source(t, data)
	return Job{Source: g, Request: transfer.Whole(url + "/x"), Tree: tree, Path: rel, Tag: "test", Size: int64(len(data)), Sum: md5Of(data)}
}

// await hands a change over and returns what became of it.
func await(hand func(done func(error))) error {
	c := make(chan error, 1)
	hand(func(err error) { c <- err })
	return <-c
}

func installer(t testing.TB, s Sync) *Installer {
	in := NewInstaller(InstallerOptions{Sync: s})
	t.Cleanup(in.Close)
	return in
}

func put(t testing.TB, in *Installer, j Job) error {
	t.Helper()
	s, err := Fetch(context.Background(), j)
	if err != nil {
		return err
	}
	if !s.Match {
		t.Errorf("%s does not match: %d bytes, %v", j.Path, s.Size, s.Sum)
	}
	return await(func(done func(error)) { in.Install(s, done) })
}

// only fails unless the tree holds exactly these files and links.
func only(t testing.TB, tree *Tree, want ...string) {
	t.Helper()
	var got []string
	err := filepath.WalkDir(tree.Dir(), func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(tree.Dir(), p)
			got = append(got, rel)
		}
		return err
	})
	if err != nil || strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("the tree holds %.300q, want %.300q (%v)", got, want, err)
	}
}

func holds(t testing.TB, tree *Tree, rel string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(tree.Dir(), rel))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s holds %d bytes (%v), want %d others", rel, len(got), err, len(want))
	}
}

func wantClass(t testing.TB, err error, class Class, text string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Class != class || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v (%v), want class %v and %q", err, ClassOf(err), class, text)
	}
}

func TestFetchAndInstall(t *testing.T) {
	for _, sync := range []Sync{SyncGroup, SyncEach, SyncOff} {
		in := installer(t, sync)
		tree := openTree(t, TreeOptions{})
		for _, n := range []int{0, 1, smallBuffer, smallBuffer + 1, pipelined, pipelined*3 + 7} {
			data := bytes.Repeat([]byte("0123456"), n/7+1)[:n]
			j := job(t, tree, "a/b/c", data)
			if err := put(t, in, j); err != nil {
				t.Errorf("%d bytes: %v", n, err)
			}
			holds(t, tree, "a/b/c", data)
			j.Request.URL = strings.TrimSuffix(j.Request.URL, "x") + "chunked"
			j.Path = "chunked"
			if err := put(t, in, j); err != nil {
				t.Errorf("%d bytes in chunks: %v", n, err)
			}
			holds(t, tree, "chunked", data)
		}
		only(t, tree, "a/b/c", "chunked")
	}
}

// Large files are fetched the same whether a processor is left for their sums or not.
func TestManyLargeAtOnce(t *testing.T) {
	in, tree := installer(t, SyncOff), openTree(t, TreeOptions{})
	data := bytes.Repeat([]byte("0123456"), 3*pipelined/7)
	const many = 8
	var under, over sync.WaitGroup
	under.Add(many)
	for i := range many {
		j := job(t, tree, fmt.Sprint("f", i), data)
		j.Source = together{j.Source, &under}
		over.Go(func() {
			if err := put(t, in, j); err != nil {
				t.Error(err)
			}
			holds(t, tree, j.Path, data)
		})
	}
	over.Wait()
}

// together lets nobody read before all have asked.
type together struct {
	transfer.Getter
	asked *sync.WaitGroup
}

func (g together) Get(ctx context.Context, r transfer.Request) (*transfer.Body, error) {
	body, err := g.Getter.Get(ctx, r)
	g.asked.Done()
	g.asked.Wait()
	return body, err
}

func TestSums(t *testing.T) {
	data := []byte("hello world\n")
	sha := post.Fingerprint{Method: "s", Value: "db3974a97f2407b7cae1ae637c0030687a11913274d578492558e39c16c017de84eacdc8c62fe34ee4e12b4b1428817f09b6a2760c3f8a664ceae94d2434a593"}
	wrong := md5Of([]byte("other"))
	tree := openTree(t, TreeOptions{})
	for _, c := range []struct {
		sum, got post.Fingerprint
		size     int64
		match    bool
	}{
		{md5Of(data), md5Of(data), 12, true}, {sha, sha, 12, true}, {wrong, md5Of(data), 12, false},
		{post.Fingerprint{Method: "z", Value: "s"}, sha, 12, true}, {post.Fingerprint{Method: "0", Value: "1234"}, post.Fingerprint{}, 12, true},
		{post.OfName("x"), post.Fingerprint{}, -1, true}, {post.Fingerprint{}, md5Of(data), -1, true},
		{md5Of(data), md5Of(data), 40, false}, {post.Fingerprint{Method: "0", Value: "1"}, post.Fingerprint{}, 13, false},
	} {
		j := job(t, tree, "x", data)
		j.Sum, j.Size = c.sum, c.size
		s, err := Fetch(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		if s.Match != c.match || s.Sum != c.got || s.Size != 12 {
			t.Errorf("sum %v size %d: got %v %v %d", c.sum, c.size, s.Match, s.Sum, s.Size)
		}
		s.Discard()
	}
	only(t, tree)
}

func TestReadingStopsAtTheFirstByteTooMany(t *testing.T) {
	tree := openTree(t, TreeOptions{})
	for _, limits := range [][2]int64{{5000, 0}, {-1, 3 << 20}, {3 << 20, 5000}} {
		j := job(t, tree, "x", nil)
		j.Request.URL = strings.TrimSuffix(j.Request.URL, "x") + "endless"
		j.Size, j.MaxSize = limits[0], limits[1]
		_, err := Fetch(t.Context(), j)
		wantClass(t, err, Oversize, "holds more than the")
	}
	j := job(t, tree, "x", make([]byte, 100))
	j.Size = 99
	_, err := Fetch(t.Context(), j)
	wantClass(t, err, Oversize, "the announced 99 bytes")
	only(t, tree)
}

func TestFailuresOfTheSourceLeaveNothing(t *testing.T) {
	tree := openTree(t, TreeOptions{})
	for path, class := range map[string]transfer.Class{"none": transfer.NotFound, "short": transfer.Temporary} {
		j := job(t, tree, "x", make([]byte, 3<<20))
		j.Request.URL = strings.TrimSuffix(j.Request.URL, "x") + path
		j.Size = -1
		_, err := Fetch(t.Context(), j)
		var e *transfer.Error
		if !errors.As(err, &e) || e.Class != class {
			t.Errorf("%s: %v", path, err)
		}
	}
	only(t, tree)
	if n := tree.pending.Load(); n != 0 {
		t.Errorf("%d fetches still count as under way", n)
	}
}

func TestAttributes(t *testing.T) {
	in, tree := installer(t, SyncOff), openTree(t, TreeOptions{})
	j := job(t, tree, "x", []byte("x"))
	j.Mode = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky | 0o751
	j.Mtime, j.Atime = time.Unix(1e9, 123456000), time.Unix(1.1e9, 5000)
	if err := put(t, in, j); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(tree.Dir(), "x"), &st); err != nil {
		t.Fatal(err)
	}
	if st.Mode != unix.S_IFREG|0o751 || st.Mtim != unix.NsecToTimespec(j.Mtime.UnixNano()) || st.Atim != unix.NsecToTimespec(j.Atime.UnixNano()) {
		t.Errorf("mode %o, times %v %v", st.Mode, st.Mtim, st.Atim)
	}
}

func TestLocalSources(t *testing.T) {
	in, tree := installer(t, SyncGroup), openTree(t, TreeOptions{})
	data := bytes.Repeat([]byte("local"), 500_000)
	dir := t.TempDir()
	from := filepath.Join(dir, "from")
	if err := os.WriteFile(from, data, 0o640); err != nil {
		t.Fatal(err)
	}
	g := transfer.NewFile(transfer.FileOptions{BaseDir: dir})
	defer g.Close()
	for _, j := range []Job{
		{Sum: md5Of(data)}, {Sum: post.NoSum()}, {Sum: md5Of(data), HardLink: true}, {Sum: post.NoSum(), HardLink: true},
	} {
		j.Source, j.Request, j.Tree, j.Path, j.Size = g, transfer.Whole(transfer.FileURL(from)), tree, "x", int64(len(data))
		if err := put(t, in, j); err != nil {
			t.Error(err)
		}
		holds(t, tree, "x", data)
		a, _ := os.Stat(from)
		b, _ := os.Stat(filepath.Join(tree.Dir(), "x"))
		if os.SameFile(a, b) != j.HardLink {
			t.Errorf("hard link: %v, asked for: %v", os.SameFile(a, b), j.HardLink)
		}
		only(t, tree, "x")
		s, err := Fetch(t.Context(), j)
		if err != nil || s.Same != j.HardLink {
			t.Errorf("the file itself as its source: %+v, %v", s, err)
			continue
		}
		if err := await(func(done func(error)) { in.Install(s, done) }); err != nil {
			t.Error(err)
		}
		holds(t, tree, "x", data)
		if err := await(func(done func(error)) { in.Remove(tree, "x", done) }); err != nil {
			t.Error(err)
		}
	}
	part := Job{Source: g, Request: transfer.Request{URL: transfer.FileURL(from), Offset: 3, Length: 7}, Tree: tree, Path: "part", Size: 7, Sum: md5Of(data[3:10])}
	if err := put(t, in, part); err != nil {
		t.Error(err)
	}
	holds(t, tree, "part", data[3:10])
}

func TestCancelled(t *testing.T) {
	tree := openTree(t, TreeOptions{})
	dir := t.TempDir()
	from := filepath.Join(dir, "from")
	if err := os.WriteFile(from, []byte("data"), 0o644); err != nil {
		t.Fatal(err)
	}
	g := transfer.NewFile(transfer.FileOptions{})
	defer g.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, j := range []Job{job(t, tree, "x", make([]byte, 1<<20)), {Sum: md5Of([]byte("data"))}, {Sum: post.NoSum()}, {Sum: md5Of([]byte("data")), HardLink: true}} {
		if j.Source == nil {
			j.Source, j.Request, j.Tree, j.Path, j.Size = g, transfer.Whole(transfer.FileURL(from)), tree, "x", 4
		}
		if _, err := Fetch(ctx, j); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	only(t, tree)
}

func TestSame(t *testing.T) {
	tree := openTree(t, TreeOptions{})
	data := []byte("here already")
	p := filepath.Join(tree.Dir(), "x")
	if err := os.WriteFile(p, data, 0o644); err != nil {
		t.Fatal(err)
	}
	when := time.Unix(1e9, 5000)
	if err := os.Chtimes(p, when, when); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("x", filepath.Join(tree.Dir(), "link")); err != nil {
		t.Fatal(err)
	}
	mtime := post.FormatTime(when)
	for _, c := range []struct {
		rel, sum, mtime string
		size            int64
		same            bool
	}{
		{"x", md5Of(data).String(), "", 12, true}, {"x", md5Of([]byte("y")).String(), mtime, 12, false}, {"x", md5Of(data).String(), "", 13, false},
		{"x", "z,d", mtime, 12, true}, {"x", "z,d", post.FormatTime(when.Add(time.Second)), 12, false}, {"x", "n,ab", mtime, 12, true},
		{"x", "n,ab", "", 12, false}, {"x", "0,1234", mtime, 12, false}, {"link", md5Of(data).String(), "", 12, false},
		{"y", md5Of(data).String(), "", 12, false}, {"x/y", md5Of(data).String(), "", 12, false}, {".", "z,d", "", 12, false},
	} {
		sum, err := post.ParseSum(c.sum)
		if err != nil {
			t.Fatal(err)
		}
		a := &post.Announcement{Sum: sum, Block: partition.WholeFile(c.size)}
		a.SetHeader(post.HeaderMtime, c.mtime)
		if same, err := Same(t.Context(), tree, c.rel, a, false); err != nil || same != c.same {
			t.Errorf("%+v: %v, %v", c, same, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	a := &post.Announcement{Sum: md5Of(data), Block: partition.WholeFile(12)}
	if same, err := Same(ended, tree, "x", a, true); same || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v, %v", same, err)
	}
}

// A file that keeps its sum is not read again: a sum that lies is taken at its word, until the file is
// written to, or nobody may take it.
func TestSameTakesKeptSum(t *testing.T) {
	tree := openTree(t, TreeOptions{})
	data, other := []byte("here already"), []byte("not so here ")
	p := filepath.Join(tree.Dir(), "x")
	write := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(p, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(data)
	f, err := os.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	same := func(sum post.Fingerprint, kept bool) bool {
		t.Helper()
		a := &post.Announcement{Sum: sum, Block: partition.WholeFile(int64(len(data)))}
		is, err := Same(t.Context(), tree, "x", a, kept)
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	post.KeepNewSum(f, md5Of(other))
	if unix.Fsetxattr(int(f.Fd()), "user.probe", nil, 0) != nil {
		t.Skip("no extended attributes here")
	}
	if !same(md5Of(other), true) || same(md5Of(data), true) || !same(md5Of(data), false) {
		t.Error("the kept sum was not taken, or taken where it must not be")
	}
	given := post.Fingerprint{Method: post.SumGiven, Value: "65537"}
	if same(given, true) {
		t.Error("what nobody gave is here")
	}
	post.KeepNewSum(f, given)
	if !same(given, true) || same(given, false) || same(post.Fingerprint{Method: post.SumGiven, Value: "1"}, true) {
		t.Error("a given sum is not taken as it is kept")
	}
	post.KeepNewSum(f, md5Of(other))
	write(data)
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(p, then, then); err != nil {
		t.Fatal(err)
	}
	if !same(md5Of(data), true) || same(md5Of(other), true) {
		t.Error("the sum of what was there before was taken")
	}
}
