package pump

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha512"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/config"
)

// dryRun is what a poster with these options would announce of a file below base; first is called before the
// first announcement is taken.
func (h *house) dryRun(name string, first func(), args ...string) ([]*post.Announcement, error) {
	h.t.Helper()
	p := h.poster(config.Post, append(args, "-xattr_disable", "on")...)
	var out []*post.Announcement
	p.dry = func(a *post.Announcement) {
		if len(out) == 0 && first != nil {
			first()
		}
		out = append(out, a)
	}
	path := filepath.Join(h.dir, "base", name)
	info, err := os.Lstat(path)
	if err != nil {
		h.t.Fatal(err)
	}
	err = p.announce(context.Background(), entry{path: path, info: info})
	return out, err
}

// parts are the headers parts and sum of announcements, in their order.
func parts(as []*post.Announcement) []string {
	out := []string{}
	for _, a := range as {
		out = append(out, a.Block.String()+" "+a.Sum.String())
	}
	return out
}

// sr_post(7), PARTS: the vectors of the living peers.
func TestBlockVectors(t *testing.T) {
	h := newHouse(t)
	h.write("base/p250.dat", strings.Repeat("A", 250))
	h.write("base/p300.dat", strings.Repeat("B", 300))
	const a, b, rest = "d,8adc5937e635f6c9af646f0b23560fae", "d,f9d3f4663bd9484b57c66d0e7f16dfa8", "d,1e2d1a8f03accd4907d668b183c2f9f0"
	for name, want := range map[string][]string{
		"p250.dat": {"i,100,3,50,0 " + a, "i,100,3,50,1 " + a, "i,100,3,50,2 " + rest},
		"p300.dat": {"i,100,3,0,0 " + b, "i,100,3,0,1 " + b, "i,100,3,0,2 " + b},
	} {
		got, err := h.dryRun(name, nil, "-blocksize", "100")
		if err != nil || !slices.Equal(parts(got), want) {
			t.Errorf("%s: %q, %v", name, parts(got), err)
		}
		for _, x := range got {
			if x.Path != name || x.Topic != "v02.post."+name || !x.Time.Time().Equal(got[0].Time.Time()) || x.Header(post.HeaderMtime) == "" || x.Header(post.HeaderMode) != "644" {
				t.Errorf("%s: %+v", name, x)
			}
		}
	}
}

// Announcements of a file of any size tile it, each with the sum of its own bytes.
func TestBlocksTile(t *testing.T) {
	h := newHouse(t)
	rapid.Check(t, func(rt *rapid.T) {
		content := make([]byte, rapid.IntRange(0, 5000).Draw(rt, "size"))
		rand.NewChaCha8([32]byte{}).Read(content)
		h.write("base/x", string(content))
		size := rapid.IntRange(2, 6000).Draw(rt, "blocksize")
		method := rapid.SampledFrom([]string{"d", "s"}).Draw(rt, "sum")
		random := rapid.SampledFrom([]string{"on", "off"}).Draw(rt, "randomize")
		compat := rapid.SampledFrom([]string{"none", "v02"}).Draw(rt, "compat")
		got, err := h.dryRun("x", nil, "-blocksize", fmt.Sprint(size), "-sum", method, "-randomize", random, "-compat", compat)
		if err != nil || random == "off" && !slices.IsSortedFunc(got, byNumber) {
			rt.Fatalf("%q: %v", parts(got), err)
		}
		slices.SortFunc(got, byNumber)
		at := int64(0)
		for i, a := range got {
			b := a.Block
			if b.Check() != nil || b.Number != int64(i) || b.Count != int64(len(got)) || b.Offset() != at || b.FileSize() != int64(len(content)) {
				rt.Fatalf("block %d begins at %d, not %d: %v", i, b.Offset(), at, b)
			}
			if compat == "v02" && b.Count > 1 && b.Remainder == 0 {
				rt.Fatalf("%v divides the file", b)
			}
			piece := content[at : at+b.Length()]
			if want := sumOf(method, piece); a.Sum.String() != want {
				rt.Fatalf("%v: %v, want %s", b, a.Sum, want)
			}
			at += b.Length()
		}
		if at != int64(len(content)) {
			rt.Fatalf("%d bytes of %d", at, len(content))
		}
	})
}

func byNumber(a, b *post.Announcement) int { return int(a.Block.Number - b.Block.Number) }

func sumOf(method string, b []byte) string {
	if method == "s" {
		return fmt.Sprintf("s,%x", sha512.Sum512(b))
	}
	return fmt.Sprintf("d,%x", md5.Sum(b))
}

// Sums that need no reading stand on each block.
func TestBlocksUnread(t *testing.T) {
	h := newHouse(t)
	h.write("base/x", strings.Repeat("A", 250))
	for sum, want := range map[string]string{"z,d": "z,d", "n": post.OfName("x").String(), "0": "0,"} {
		got, err := h.dryRun("x", nil, "-blocksize", "100", "-sum", sum)
		if err != nil || len(got) != 3 {
			t.Fatalf("%s: %d, %v", sum, len(got), err)
		}
		for i, a := range got {
			if a.Block.Number != int64(i) || !strings.HasPrefix(a.Sum.String(), want) {
				t.Errorf("%s: %v %v", sum, a.Block, a.Sum)
			}
		}
	}
}

// Blocks are announced before the last is read, and none once the file is no longer what it was.
func TestBlocksOfAChangingFile(t *testing.T) {
	const blocks, size = 5000, 100
	for name, change := range map[string]func(path string) error{
		"grows":   func(path string) error { return os.WriteFile(path, make([]byte, (blocks+1)*size), 0o644) },
		"shrinks": func(path string) error { return os.Truncate(path, size) },
		"goes":    os.Remove,
		"gives way": func(path string) error {
			if err := os.WriteFile(path+".new", make([]byte, blocks*size), 0o644); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			path := h.write("base/x", string(make([]byte, blocks*size)))
			got, err := h.dryRun("x", func() {
				if err := change(path); err != nil {
					t.Error(err)
				}
			}, "-blocksize", fmt.Sprint(size))
			if !errors.Is(err, errChanged) || len(got) == 0 || len(got) > blocks/2 {
				t.Errorf("%d of %d announced, %v", len(got), blocks, err)
			}
		})
	}
}

// Of a file that another takes the place of, or that goes, before anything is announced, what is there then is
// announced.
func TestFileReplacedBeforehand(t *testing.T) {
	h := newHouse(t)
	path := h.write("base/x", "old")
	p := h.poster(config.Post)
	var removed []*post.Announcement
	p.dry = func(a *post.Announcement) { removed = append(removed, a) }
	var sizes []int64
	change := []func(){
		func() { os.Rename(h.write("base/new", "newer"), path) },
		func() { os.Remove(path) },
	}
	err := p.steadily(context.Background(), entry{path: path}, func(s *sumFile) (bool, error) {
		sizes = append(sizes, s.info.Size())
		change[len(sizes)-1]()
		return false, s.inPlace()
	})
	if err != nil || !slices.Equal(sizes, []int64{3, 5}) || len(removed) != 1 || !removed[0].Sum.IsRemoval() {
		t.Errorf("%v, sizes %d, announced %q", err, sizes, parts(removed))
	}
}

// sr_watch(1): however often a file is written over, in the end all blocks of what it holds are announced, later
// than all else.
func TestWatchBlocks(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	path := h.write("base/x", strings.Repeat("0", 10_000))
	p := h.poster(config.Watch, "-blocksize", "1000")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Watch(ctx, []string{h.dir + "/base"}) }()
	h.until("the first is here", func() bool { return len(got()) >= 10 })
	var content []byte
	for i := range 20 {
		content = bytes.Repeat([]byte{byte('a' + i)}, 10_000+i*100)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := partition.Cut(partition.Inplace, int64(len(content)), 1000)
	h.until("the last is here", func() bool {
		var last []*post.Announcement
		for _, a := range got() {
			if len(last) > 0 && a.Time.Time().After(last[0].Time.Time()) {
				last = nil
			}
			last = append(last, a)
		}
		for i, a := range last {
			b.Number = int64(i)
			if a.Block != b || a.Sum.String() != sumOf("d", content[b.Offset():b.Offset()+b.Length()]) {
				return false
			}
		}
		return len(last) == int(b.Count)
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if p.Counters.Failed.Load() > 0 {
		t.Errorf("%d failed", p.Counters.Failed.Load())
	}
}

// With a cache a file in blocks is announced whole or not at all: a receiver of a new version waits for all of
// its blocks.
func TestBlocksOnce(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	total := 0
	for i, s := range []struct {
		content, size string
		more          int
	}{
		{"aaaabbbbcc", "4", 3}, {"aaaabbbbcc", "4", 0}, {"aaaaBbbbcc", "4", 3}, {"aaaabbbbcc", "4", 3}, {"aaaabbbbccdd", "4", 3},
		{"aaaabbbbccdd", "6", 2}, {"aaaabbbbccdd", "6", 0}, {"aaaabbbbccdd", "1", 1},
	} {
		h.write("base/x", s.content)
		if err := h.poster(config.Post, "-suppress_duplicates", "1h", "-blocksize", s.size).Post(context.Background(), []string{"x"}); err != nil {
			t.Fatal(i, err)
		}
		total += s.more
		h.until(fmt.Sprintf("step %d", i), func() bool { return len(got()) >= total })
		if len(got()) != total {
			t.Fatalf("step %d: %d announced, want %d: %q", i, len(got()), total, parts(got()))
		}
	}
}

// What is announced of a file in blocks is remembered only once the broker has every block.
func TestBlocksKnownTogether(t *testing.T) {
	refused := errors.New("refused")
	for _, outcome := range [][]error{{nil, nil, nil}, {refused, nil, nil}, {nil, nil, refused}} {
		var ended []error
		j := newJoint(func(err error) { ended = append(ended, err) })
		var want error
		for _, err := range outcome {
			j.add()
			if err != nil {
				want = err
			}
		}
		for i, err := range outcome {
			if j.done(err); len(ended) > 0 {
				t.Errorf("ended after %d", i)
			}
		}
		if j.done(nil); len(ended) != 1 || ended[0] != want {
			t.Errorf("%v: ended with %v", outcome, ended)
		}
	}
}
