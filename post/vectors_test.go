package post

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/partition"
)

// A captured message of a living peer.
type captured struct {
	By, Topic, Body string
	Headers         map[string]struct{ Value any }
}

func (c captured) decode(t *testing.T) *Announcement {
	t.Helper()
	h := make(map[string]any)
	for k, v := range c.Headers {
		h[k] = v.Value
	}
	a, err := Decode(c.Topic, h, []byte(c.Body))
	if err != nil {
		t.Fatalf("%s: %q: %v", c.By, c.Body, err)
	}
	return a
}

func readVectors(t *testing.T, name string) (out []captured) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var c captured
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// Everything the living Python and C peers were seen to send decodes to an
// announcement that can be sent on.
func TestVectorsDecode(t *testing.T) {
	n := 0
	for _, file := range []string{"posts.jsonl", "watch.jsonl"} {
		for _, c := range readVectors(t, file) {
			a := c.decode(t)
			n++
			if a.Time.IsZero() || a.Base != "http://h.example/" || a.Sum == (Fingerprint{}) {
				t.Errorf("%s: %+v", c.By, a)
			}
			if _, err := EncodeV02(a); err != nil {
				t.Errorf("%s: %v", c.By, err)
			}
			if r, err := a.Retrieval(BaseAuto); err != nil || strings.HasPrefix(r.Path, "/") {
				t.Errorf("%s: %+v %v", c.By, r, err)
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d vectors", n)
	}
}

// tree is what the peers posted, path to content.
var tree = map[string]string{
	"sub/foo.txt": "hello world\n", "sub/empty.dat": "", "sub/a b.txt": "blank\n", "sub/x#y.txt": "hash\n", "sub/100%.txt": "pct\n",
	"sub/s*r.txt": "star\n", "sub/p+q&r=s;t.txt": "plus\n", "sub/dir.with.dots/v1.2.3.tar.gz": "dots\n", "sub/.hidden": "h",
	"sub/dotfile": "x", "sub/t.tmp": "tmp", "sub/p250.dat": strings.Repeat("A", 250), "sub/p300.dat": strings.Repeat("B", 300), "é ü/ñ.txt": "ünï\n",
	"deep/" + strings.Repeat("d", 60) + "/" + strings.Repeat("e", 60) + "/" + strings.Repeat("f", 60) + "/" + strings.Repeat("g", 60) + "/leaf.txt": "deep\n",
}

func makeTree(t *testing.T) string {
	base := t.TempDir()
	stamp := time.Date(2020, 1, 2, 3, 4, 5, 250e6, time.UTC)
	for name, content := range tree {
		p, mode, at := filepath.Join(base, name), os.FileMode(0o644), stamp
		switch name {
		case "sub/foo.txt":
			mode, at = 0o755, stamp.Truncate(time.Second)
		case "sub/empty.dat":
			mode = 0o640
		}
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return base
}

// The same tree posted by ours gives equal topics (directories only), sums,
// parts, modes, times and names, once through the wire.
func TestVectorsEqualOurs(t *testing.T) {
	base := makeTree(t)
	m := &Maker{BaseURL: "http://h.example/", BaseDir: base, DirsOnly: true, KeepMode: true, KeepTime: true}
	for _, c := range readVectors(t, "posts.jsonl") { // each cuts a long topic elsewhere
		theirs := c.decode(t)
		if !strings.HasPrefix(c.Topic, "v02.") || theirs.Sum.Method == SumMkdir {
			continue // another version; directories are not posted
		}
		ours := announceLike(t, m, base, theirs)
		if got, want := ours.Topic, strings.ReplaceAll(theirs.Topic, " ", "%20"); got != want && !(len(got) > MaxTopic-3 && (strings.HasPrefix(want, got) || strings.HasPrefix(got, want))) {
			t.Errorf("%s %s: topic %q, want %q", c.By, theirs.Path, got, want)
		}
		if ours.Path != strings.TrimPrefix(theirs.Path, "/") || ours.Block != theirs.Block || ours.Header("link") != theirs.Header("link") && c.Headers["link"].Value != nil {
			t.Errorf("%s: ours %+v, theirs %+v", c.By, ours, theirs)
		}
		if theirs.Sum.Method != SumNone && !strings.HasPrefix(c.By, "c-") && ours.Sum != theirs.Sum {
			t.Errorf("%s %s: sum %v, want %v", c.By, theirs.Path, ours.Sum, theirs.Sum)
		}
		if ours.Header(HeaderMode) != theirs.Header(HeaderMode) && theirs.Sum.Method != SumLink {
			t.Errorf("%s %s: mode %s, want %s", c.By, theirs.Path, ours.Header(HeaderMode), theirs.Header(HeaderMode))
		}
		if !ours.Mtime().Time().Equal(theirs.Mtime().Time()) {
			t.Errorf("%s %s: mtime %v, want %v", c.By, theirs.Path, ours.Mtime(), theirs.Mtime())
		}
	}
}

// announceLike announces the file a peer announced, the way it did, and takes
// it over the wire once.
func announceLike(t *testing.T, m *Maker, base string, theirs *Announcement) *Announcement {
	t.Helper()
	p := filepath.Join(base, theirs.Path)
	var a *Announcement
	var err error
	if theirs.Sum.IsLink() {
		target := map[string]string{"lnk": "foo.txt", "dangling": "/nonexistent"}[filepath.Base(p)]
		a, err = m.Link(p, target, time.Now())
	} else {
		content, rerr := os.ReadFile(p)
		fi, serr := os.Stat(p)
		if rerr != nil || serr != nil {
			t.Fatal(rerr, serr)
		}
		b := partition.WholeFile(int64(len(content)))
		if theirs.Block.Method == partition.Inplace {
			b = partition.Cut(partition.Inplace, int64(len(content)), theirs.Block.Size)
			b.Number = theirs.Block.Number
		}
		sum := OfName(filepath.Base(p))
		if theirs.Sum.Verifiable() {
			piece := string(content[b.Offset() : b.Offset()+b.Length()])
			sum, _, err = OfReader(theirs.Sum.Method, strings.NewReader(piece), make([]byte, 64))
			if err != nil {
				t.Fatal(err)
			}
		}
		a, err = m.File(p, fi, sum, b, time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	w, err := EncodeV02(a)
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeV02(w.Topic, w.Headers, w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func TestMaker(t *testing.T) {
	base := makeTree(t)
	foo := filepath.Join(base, "sub/foo.txt")
	fi, err := os.Stat(foo)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	file := func(m Maker) *Announcement {
		a, err := m.File(foo, fi, OfName("foo.txt"), partition.WholeFile(12), now)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := file(Maker{BaseURL: "http://h.example/", BaseDir: base, Headers: map[string]string{"flow": "exp13"}, Rename: "/x/y/"})
	if a.Topic != "v02.post.sub.foo.txt" || a.Path != "sub/foo.txt" || a.Header("flow") != "exp13" || a.Header("rename") != "/x/y/foo.txt" || a.Header("mtime") != "" || a.Time.String() != "20260102030405.000006" {
		t.Errorf("%+v", a)
	}
	if a = file(Maker{BaseURL: "http://h.example/", BaseDir: base[:len(base)-1]}); a.Path != foo {
		t.Errorf("base directory cut inside a name: %q", a.Path)
	}
	if a = file(Maker{BaseURL: LocalBase, BaseDir: base}); a.Base != "file:" || a.Path != foo {
		t.Errorf("file: announced as %q %q", a.Base, a.Path)
	}
	if a = file(Maker{BaseURL: "http://h/", BaseDir: base, Subtopic: "x.y"}); a.Topic != "v02.post.x.y" {
		t.Errorf("subtopic: %s", a.Topic)
	}
	if a = file(Maker{BaseURL: "http://h/", BaseDir: base, Strip: func(string) string { return "foo.txt" }}); a.Header("rename") != "/foo.txt" {
		t.Errorf("strip: %q", a.Header("rename"))
	}
	m := Maker{BaseURL: "http://h/", BaseDir: base}
	if a, err = m.Removal(filepath.Join(base, "ren.txt"), now); err != nil || a.Sum != OfRemoval("ren.txt") || a.HasBlock() {
		t.Errorf("removal: %+v %v", a, err)
	}
	if _, err = m.Removal(base, now); err == nil {
		t.Error("the base directory itself was announced")
	}
	if _, err = m.Link(foo, strings.Repeat("x", 300), now); err == nil {
		t.Error("a link no header holds was announced")
	}
}
