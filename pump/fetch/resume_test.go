package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/transfer"
	"srpump/test/nginx"
)

const resumeSize = 1 << 20

// noise is data in which no part is like another.
func noise(seed byte) []byte {
	data := make([]byte, resumeSize)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data)
	return data
}

// A cutting server serves data and breaks the first answers after so many bytes of the body.
type cutting struct {
	data  []byte
	etag  string
	date  time.Time
	plain bool // it knows no ranges
	cuts  []int64

	asked  atomic.Int64 // answers begun
	served atomic.Int64 // bytes sent
	ranges []string
}

func (c *cutting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := int(c.asked.Add(1))
	c.ranges = append(c.ranges, r.Header.Get("Range"))
	if c.etag != "" {
		w.Header().Set("ETag", c.etag)
	}
	out := &cutWriter{ResponseWriter: w, left: int64(len(c.data)), served: &c.served}
	if n <= len(c.cuts) {
		out.left = c.cuts[n-1]
	}
	if c.plain {
		w.Header().Set("Content-Length", fmt.Sprint(len(c.data)))
		_, _ = out.Write(c.data)
		return
	}
	http.ServeContent(out, r, "", c.date, bytes.NewReader(c.data))
}

type cutWriter struct {
	http.ResponseWriter
	left   int64
	served *atomic.Int64
}

func (c *cutWriter) Write(b []byte) (int, error) {
	part := b[:min(int64(len(b)), c.left)]
	n, err := c.ResponseWriter.Write(part)
	c.left -= int64(n)
	c.served.Add(int64(n))
	if err == nil && len(part) < len(b) {
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// A resuming is one file that is fetched again and again.
type resuming struct {
	*cutting
	t    *testing.T
	tree *Tree
	job  Job
}

func newResuming(t *testing.T, c *cutting) *resuming {
	s := httptest.NewServer(c)
	g := transfer.NewHTTP(transfer.HTTPOptions{Workers: 4})
	t.Cleanup(func() { g.Close(); s.Close() })
	tree := openTree(t, TreeOptions{})
	return &resuming{c, t, tree, Job{Source: g, Request: transfer.Whole(s.URL + "/x"), Tree: tree, Path: "sub/x", Tag: "test", Size: resumeSize, Sum: md5Of(c.data),
		Partials: &Partials{Dir: filepath.Join(t.TempDir(), "partial"), Least: 1000, Step: 64 << 10}}}
}

// cut fetches, which must be interrupted.
func (r *resuming) cut() {
	r.t.Helper()
	if _, err := Fetch(r.t.Context(), r.job); transfer.ClassOf(err) != transfer.Temporary || err == nil {
		r.t.Fatalf("fetched: %v", err)
	}
}

// whole fetches to the end, of which all but so many bytes were here; nothing is left behind.
func (r *resuming) whole(resumed int64) {
	r.t.Helper()
	s, err := Fetch(r.t.Context(), r.job)
	if err != nil || !s.Match || s.Size != resumeSize || s.Resumed != resumed {
		r.t.Fatalf("fetched %+v, %v; want %d bytes resumed", s, err, resumed)
	}
	in := installer(r.t, SyncGroup)
	if err := await(func(done func(error)) { in.Install(s, done) }); err != nil {
		r.t.Fatal(err)
	}
	holds(r.t, r.tree, "sub/x", r.data)
	only(r.t, r.tree, "sub/x")
	if left, _ := os.ReadDir(r.job.Partials.Dir); len(left) > 0 {
		r.t.Errorf("left: %v", left)
	}
}

var longAgo = time.Unix(1e9, 0)

// Cut at every tenth of the file, by each that can prove it unchanged: no byte comes twice.
func TestResumedAtEveryTenth(t *testing.T) {
	for name, c := range map[string]*cutting{"ETag": {etag: `"one"`}, "time": {date: longAgo}, "both": {etag: `"one"`, date: longAgo}} {
		t.Run(name, func(t *testing.T) {
			c.data = noise(1)
			for range 9 {
				c.cuts = append(c.cuts, resumeSize/10)
			}
			r := newResuming(t, c)
			for range 9 {
				r.cut()
			}
			r.whole(9 * (resumeSize / 10))
			if c.served.Load() != resumeSize {
				t.Errorf("served %d bytes, want %d: %q", c.served.Load(), resumeSize, c.ranges)
			}
		})
	}
}

// Whatever cannot prove that it is the same starts again, and no byte of the old is in the new.
func TestNotResumed(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after *cutting
	}{
		{"another ETag", &cutting{etag: `"one"`}, &cutting{etag: `"two"`}},
		{"another time", &cutting{date: longAgo}, &cutting{date: longAgo.Add(time.Second)}},
		{"weak ETag", &cutting{etag: `W/"one"`, date: longAgo}, &cutting{etag: `W/"one"`, date: longAgo}},
		{"no validator", &cutting{}, &cutting{}},
		{"the ETag is gone", &cutting{etag: `"one"`, date: longAgo}, &cutting{date: longAgo}},
		{"no ranges any more", &cutting{etag: `"one"`}, &cutting{etag: `"one"`, plain: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := c.before
			srv.data, srv.cuts = noise(1), []int64{resumeSize / 2}
			r := newResuming(t, srv)
			r.cut()
			srv.etag, srv.date, srv.plain, srv.data = c.after.etag, c.after.date, c.after.plain, noise(2)
			r.job.Sum = md5Of(srv.data)
			r.whole(0)
		})
	}
}

// What only pretends to be the same is found out by the checksum of the whole, and fetched
// from its beginning before anybody hears of it.
func TestResumedMismatchStartsAgain(t *testing.T) {
	c := &cutting{etag: `"one"`, data: noise(1), cuts: []int64{resumeSize / 2}}
	r := newResuming(t, c)
	r.cut()
	c.data = noise(2)
	r.job.Sum = md5Of(c.data)
	r.whole(0)
	if len(c.ranges) != 3 || c.ranges[1] == "" || c.ranges[2] != "" {
		t.Errorf("asked for %q", c.ranges)
	}
}

// Without a checksum to look at, a time proves nothing of what was changed just now.
func TestFreshTimesProveNothing(t *testing.T) {
	for _, etag := range []string{"", `"5f00aa-100000"`} { // that of nginx and of SFTP is made of time and size
		c := &cutting{date: time.Now(), etag: etag, data: noise(1), cuts: []int64{resumeSize / 2}}
		r := newResuming(t, c)
		r.job.Sum = post.Fingerprint{Method: "0", Value: "1"}
		r.cut()
		r.whole(0)
	}
}

// A sync that failed on the way is not made good by one that succeeds later: the kernel has forgotten the bytes.
// Nothing is left to go on from, and the file is not installed.
func TestFailedSyncIsNotForgotten(t *testing.T) {
	r := newResuming(t, &cutting{etag: `"one"`, data: noise(1)})
	s, err := Fetch(t.Context(), r.job)
	must(t, err)
	m, file := s.marks, s.marks.f
	m.saving.Wait()
	m.f = unsyncable(t)
	m.save(&partial{Done: 1000})
	m.f = file
	done := m.p.Done
	m.save(&partial{Done: 2000})
	if m.p.Done != done {
		t.Errorf("%d bytes are said to be durable", m.p.Done)
	}
	in := installer(t, SyncGroup)
	if err := await(func(done func(error)) { in.Install(s, done) }); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("installed: %v", err)
	}
	only(t, r.tree)
}

// The same of a file put together of blocks.
func TestFailedSyncOfBlocks(t *testing.T) {
	tree := openTree(t, TreeOptions{})
	p, err := OpenSparse(Job{Tree: tree, Path: "x", Tag: "test"}, FileID{})
	must(t, err)
	defer p.Discard()
	file := p.s.f
	p.s.f = unsyncable(t)
	failed := p.Sync()
	p.s.f = file
	if err := p.Sync(); failed == nil || err == nil {
		t.Errorf("%v, then %v", failed, err)
	}
}

// unsyncable is a file of which no sync succeeds.
func unsyncable(t *testing.T) *os.File {
	f, w, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { f.Close(); w.Close() })
	return f
}

// What is left is no use when its file was replaced, cut, or is another's, when the word is garbled, or when
// the hash has another method: then it starts again, or reads the bytes again.
func TestWhatIsLeft(t *testing.T) {
	const half = resumeSize / 2
	other := []byte("precious")
	for _, c := range []struct {
		name    string
		spoil   func(t *testing.T, r *resuming, temp, word string)
		resumed int64
	}{
		{"as it was", func(*testing.T, *resuming, string, string) {}, half},
		{"longer", func(t *testing.T, r *resuming, temp, _ string) { appendTo(t, temp, other) }, half},
		{"cut", func(t *testing.T, r *resuming, temp, _ string) { must(t, os.Truncate(temp, half-1)) }, 0},
		{"gone", func(t *testing.T, r *resuming, temp, _ string) { must(t, os.Remove(temp)) }, 0},
		{"replaced", func(t *testing.T, r *resuming, temp, _ string) {
			must(t, os.Rename(temp, temp+"x"))
			must(t, os.WriteFile(temp, make([]byte, resumeSize), 0o600))
			must(t, os.Remove(temp+"x"))
		}, 0},
		{"another with its inode", func(t *testing.T, r *resuming, _, word string) {
			text, err := os.ReadFile(word)
			must(t, err)
			must(t, os.WriteFile(word, regexp.MustCompile(`"Born":\d+`).ReplaceAll(text, []byte(`"Born":1`)), 0o600))
		}, 0},
		{"a link", func(t *testing.T, r *resuming, temp, _ string) {
			victim := filepath.Join(t.TempDir(), "victim")
			must(t, os.Rename(temp, victim))
			must(t, os.Symlink(victim, temp))
		}, 0},
		{"garbled", func(t *testing.T, r *resuming, _, word string) {
			must(t, os.WriteFile(word, []byte(`{"Done":`), 0o600))
		}, 0},
		{"another method", func(t *testing.T, r *resuming, _, _ string) {
			sum, _, err := post.OfReader(post.SumSHA512, bytes.NewReader(r.data), make([]byte, 100))
			must(t, err)
			r.job.Sum = sum
		}, half},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newResuming(t, &cutting{etag: `"one"`, data: noise(1), cuts: []int64{half}})
			r.cut()
			_, temp := Inflight{}.Name("x", "test")
			words, err := filepath.Glob(filepath.Join(r.job.Partials.Dir, "*"))
			if err != nil || len(words) != 1 {
				t.Fatalf("left: %v, %v", words, err)
			}
			c.spoil(t, r, filepath.Join(r.tree.Dir(), "sub", temp), words[0])
			r.whole(c.resumed)
		})
	}
}

// No secret of a URL is in what is left.
func TestNoSecretIsLeft(t *testing.T) {
	r := newResuming(t, &cutting{etag: `"one"`, data: noise(1), cuts: []int64{resumeSize / 2}})
	r.job.Request.URL += "?token=s3cret"
	r.cut()
	words, _ := filepath.Glob(filepath.Join(r.job.Partials.Dir, "*"))
	text, err := os.ReadFile(words[0])
	if err != nil || strings.Contains(string(text), "s3cret") {
		t.Errorf("left %s, %v", text, err)
	}
}

// A stop leaves word, too; a disk that is full gets its room back.
func TestStopLeavesWord(t *testing.T) {
	r := newResuming(t, &cutting{etag: `"one"`, data: noise(1)})
	ctx, cancel := context.WithCancel(t.Context())
	r.job.Source = stopping{r.job.Source, resumeSize / 4, cancel}
	if _, err := Fetch(ctx, r.job); !errors.Is(err, context.Canceled) {
		t.Fatalf("fetched: %v", err)
	}
	r.job.Source = r.job.Source.(stopping).Getter
	s, err := Fetch(t.Context(), r.job)
	if err != nil || !s.Match || s.Resumed < resumeSize/4 {
		t.Fatalf("fetched %+v, %v", s, err)
	}
	s.Discard()
	only(t, r.tree)
}

// stopping calls stop once so many bytes were read.
type stopping struct {
	transfer.Getter
	after int64
	stop  func()
}

func (s stopping) Get(ctx context.Context, r transfer.Request) (*transfer.Body, error) {
	b, err := s.Getter.Get(ctx, r)
	if err == nil {
		b.ReadCloser = &stoppingBody{b.ReadCloser, s.after, s.stop}
	}
	return b, err
}

type stoppingBody struct {
	io.ReadCloser
	left int64
	stop func()
}

func (b *stoppingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		b.stop()
		return n, transfer.Fail("get", "", transfer.Temporary, context.Canceled)
	}
	return n, err
}

func appendTo(t *testing.T, path string, data []byte) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	defer f.Close()
	_, err = f.Write(data)
	must(t, err)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkMarks is what it costs to be able to go on: 1 GiB from nginx to the disk, verified, with word left at
// various steps and none.
func BenchmarkMarks(b *testing.B) {
	dir := b.TempDir()
	data := make([]byte, 1<<30)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data)
	if err := os.WriteFile(filepath.Join(dir, "x"), data, 0o644); err != nil {
		b.Fatal(err)
	}
	url, sum := nginx.Start(b, dir), md5Of(data)
	for _, step := range []int64{0, 4 << 20, 16 << 20, 64 << 20} {
		b.Run(fmt.Sprintf("%dMiB", step>>20), func(b *testing.B) {
			b.SetBytes(1 << 30)
			for b.Loop() {
				tree, err := OpenTree(benchDir(b, ""), TreeOptions{})
				must(b, err)
				j := Job{Source: transfer.NewHTTP(transfer.HTTPOptions{Workers: 1}), Request: transfer.Whole(url + "/x"), Tree: tree, Path: "x", Size: 1 << 30, Sum: sum}
				if step > 0 {
					j.Partials = &Partials{Dir: filepath.Join(tree.Dir(), "partial"), Step: step}
				}
				s, err := Fetch(b.Context(), j)
				must(b, err)
				in := NewInstaller(InstallerOptions{})
				must(b, await(func(d func(error)) { in.Install(s, d) }))
				in.Close()
				must(b, os.RemoveAll(tree.Dir()))
				must(b, tree.Close())
			}
		})
	}
}

// That a fetch goes on is told when it does, and not only when it is over: it may be cut again.
func TestResumingIsTold(t *testing.T) {
	r := newResuming(t, &cutting{data: noise(7), date: longAgo, cuts: []int64{300 << 10, 200 << 10}})
	var told []int64
	r.job.Resuming = func(here, of int64) {
		if of != resumeSize {
			t.Errorf("of %d bytes", of)
		}
		told = append(told, here)
	}
	r.cut()
	r.cut()
	if len(told) != 1 || told[0] != 300<<10 {
		t.Errorf("told: %v", told)
	}
	r.whole(500 << 10)
	if len(told) != 2 || told[1] != 500<<10 {
		t.Errorf("told: %v", told)
	}
}
