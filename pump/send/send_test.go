package send

import (
	"context"
	"crypto/md5"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/transfer"
)

func temporary(name string) (sub, temp string) { return "", "." + name + ".tmp" }

// A bench is a directory of sources and a place to deliver to.
type bench struct {
	*testing.T
	src string
	to  *shelf
	s   *Sender
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, src: t.TempDir(), to: &shelf{dir: t.TempDir()}}
	b.s = New(b.to, Options{Temporary: temporary, DirMode: 0o775})
	return b
}

// file is a source that holds content, announced as such.
func (b *bench) file(name, content string) File {
	b.Helper()
	at := filepath.Join(b.src, name)
	if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
		b.Fatal(err)
	}
	h := md5.New()
	io.WriteString(h, content)
	return File{Source: transfer.NewFile(transfer.FileOptions{}), Request: transfer.Whole(transfer.FileURL(at)), URL: "dir://host/in/sub/" + name,
		Size: int64(len(content)), Sum: post.OfHash(post.SumMD5, h)}
}

// there is what is at the place: path and content of each file.
func (b *bench) there() string {
	b.Helper()
	var out []string
	err := filepath.WalkDir(b.to.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(b.to.dir, path)
		out = append(out, rel+"="+string(text))
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return strings.Join(out, " ")
}

// In this order: directory, bytes under the temporary name, size, attributes, final name.
func TestSend(t *testing.T) {
	b := newBench(t)
	f := b.file("foo", "hello")
	f.Mode, f.ModTime = 0o640, time.Unix(1700000000, 0)
	sent, err := b.s.Send(t.Context(), f)
	if err != nil || sent.Size != 5 || !sent.Sum.Equal(f.Sum) || sent.Unset != nil {
		t.Fatalf("%+v %v", sent, err)
	}
	if got := b.there(); got != "in/sub/foo=hello" {
		t.Errorf("there is %s", got)
	}
	want := []string{"mkdir /in/sub", "put /in/sub/.foo.tmp", "stat /in/sub/.foo.tmp", "set /in/sub/.foo.tmp", "rename /in/sub/.foo.tmp", "to /in/sub/foo"}
	if !slices.Equal(b.to.calls, want) {
		t.Errorf("asked for %q", b.to.calls)
	}
	if fi, err := os.Stat(filepath.Join(b.to.dir, "in/sub/foo")); err != nil || fi.Mode().Perm() != 0o640 || fi.ModTime().Unix() != 1700000000 {
		t.Error(fi, err)
	}
	b.to.calls = nil
	if _, err := b.s.Send(t.Context(), b.file("foo", "again")); err != nil || slices.Contains(b.to.calls, "mkdir /in/sub") {
		t.Errorf("%v: the directory is made again: %q", err, b.to.calls)
	}
}

// What not everybody may read is made so, before it has a byte; one who may not write it himself can still make it.
func TestSendPrivate(t *testing.T) {
	b := newBench(t)
	for _, mode := range []fs.FileMode{0o600, 0o440, 0o644, 0} {
		f := b.file("foo", "x")
		f.Mode = mode
		if _, err := b.s.Send(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	if want := []fs.FileMode{0o600, 0o640, 0, 0}; !slices.Equal(b.to.modes, want) {
		t.Errorf("made with %o", b.to.modes)
	}
}

// What is not the file that was announced has no name there, not even a temporary one.
func TestSendOnlyWhatWasAnnounced(t *testing.T) {
	for name, spoil := range map[string]func(*File, string){
		"other bytes": func(f *File, at string) { os.WriteFile(at, []byte("HELLO"), 0o600) },
		"longer":      func(f *File, at string) { os.WriteFile(at, []byte("hello world"), 0o600) },
		"shorter":     func(f *File, at string) { os.Truncate(at, 2) },
		"written to": func(f *File, at string) {
			f.Sum = post.NoSum()
			f.Paced = func(_ context.Context, r io.Reader) io.Reader {
				os.Chtimes(at, time.Time{}, time.Unix(1, 0))
				return r
			}
		},
		"cut while it is read": func(f *File, at string) {
			f.Paced = func(_ context.Context, r io.Reader) io.Reader {
				os.Truncate(at, 1)
				return r
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			f := b.file("foo", "hello")
			spoil(&f, filepath.Join(b.src, "foo"))
			_, err := b.s.Send(t.Context(), f)
			if c := transfer.ClassOf(err); err == nil || c != transfer.Changed && name != "cut while it is read" {
				t.Errorf("%v", err)
			}
			if got := b.there(); got != "" {
				t.Errorf("there is %s", got)
			}
		})
	}
}

// Whatever step fails, what was there before is there still, and nothing else; the next try succeeds.
func TestSendFailures(t *testing.T) {
	for _, op := range []string{"mkdir", "put", "stat", "set", "rename", "to"} {
		t.Run(op, func(t *testing.T) {
			b := newBench(t)
			if _, err := b.s.Send(t.Context(), b.file("foo", "before")); err != nil {
				t.Fatal(err)
			}
			b.s.dirs.forget()
			f := b.file("foo", "after")
			f.Mode = 0o640
			b.to.fail = func(o, _ string) error {
				if o == op {
					return errors.New("out of order")
				}
				return nil
			}
			if _, err := b.s.Send(t.Context(), f); err == nil || transfer.ClassOf(err) != transfer.Temporary {
				t.Errorf("%v", err)
			}
			if got := b.there(); got != "in/sub/foo=before" {
				t.Errorf("there is %s", got)
			}
			b.to.fail = nil
			if _, err := b.s.Send(t.Context(), f); err != nil || b.there() != "in/sub/foo=after" {
				t.Errorf("%v, there is %s", err, b.there())
			}
		})
	}
}

// What an earlier try left is not written over but replaced: a server may still be writing to it.
func TestSendAgain(t *testing.T) {
	b := newBench(t)
	if err := os.MkdirAll(filepath.Join(b.to.dir, "in/sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	left, err := os.Create(filepath.Join(b.to.dir, "in/sub/.foo.tmp"))
	if err != nil {
		t.Fatal(err)
	}
	defer left.Close()
	f := b.file("foo", "hello")
	f.Again = true
	if _, err := b.s.Send(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if _, err := left.WriteString("stale"); err != nil || b.there() != "in/sub/foo=hello" {
		t.Errorf("%v: there is %s", err, b.there())
	}
}

// A directory that somebody removed is made again at the next try.
func TestSendDirectoryGone(t *testing.T) {
	b := newBench(t)
	f := b.file("foo", "x")
	if _, err := b.s.Send(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(b.to.dir, "in")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.s.Send(t.Context(), f); transfer.ClassOf(err) != transfer.NotFound || err == nil {
		t.Errorf("%v", err)
	}
	if _, err := b.s.Send(t.Context(), f); err != nil || b.there() != "in/sub/foo=x" {
		t.Errorf("%v: %s", err, b.there())
	}
}

// Of many who need a directory at once, one makes it.
func TestMkdirOnce(t *testing.T) {
	b := newBench(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := b.s.Mkdir(t.Context(), "dir://host/a/b"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if !slices.Equal(b.to.calls, []string{"mkdir /a/b"}) {
		t.Errorf("asked for %q", b.to.calls)
	}
}

// A server that sets no mode, or nothing, keeps no file from being delivered, and is asked once.
func TestSendUnset(t *testing.T) {
	for _, c := range []transfer.Class{transfer.Unsupported, transfer.Forbidden} {
		b := newBench(t)
		b.to.refuses = c
		f := b.file("foo", "x")
		f.Mode, f.ModTime = 0o640, time.Unix(1700000000, 0)
		sent, err := b.s.Send(t.Context(), f)
		if err != nil || sent.Unset == nil {
			t.Errorf("%v: %+v, %v", c, sent, err)
		}
		fi, err := os.Stat(filepath.Join(b.to.dir, "in/sub/foo"))
		if timed := err == nil && fi.ModTime().Unix() == 1700000000; timed != (c == transfer.Unsupported) {
			t.Errorf("%v: time set: %v", c, timed)
		}
		if sent, err = b.s.Send(t.Context(), f); err != nil || sent.Unset != nil {
			t.Errorf("again: %+v, %v", sent, err)
		}
	}
}

// The sum left to who fetches first is computed; one that says nothing of bytes is not.
func TestSendSums(t *testing.T) {
	b := newBench(t)
	f := b.file("foo", "hello")
	want := f.Sum
	f.Sum, f.Size = post.Fingerprint{Method: post.SumLater, Value: post.SumMD5}, -1
	if sent, err := b.s.Send(t.Context(), f); err != nil || !sent.Sum.Equal(want) || sent.Size != 5 {
		t.Errorf("%+v %v", sent, err)
	}
	f.Sum = post.NoSum()
	if sent, err := b.s.Send(t.Context(), f); err != nil || sent.Sum != (post.Fingerprint{}) {
		t.Errorf("%+v %v", sent, err)
	}
}

// Links replace what has their name; where there are none it is said to be so.
func TestLink(t *testing.T) {
	b := newBench(t)
	if _, err := b.s.Send(t.Context(), b.file("l", "x")); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", "b"} {
		if err := b.s.Link(t.Context(), text, "dir://host/in/sub/l"); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(filepath.Join(b.to.dir, "in/sub/l")); got != text {
			t.Error(got, err)
		}
	}
	plain := New(struct{ transfer.Writer }{b.to}, Options{Temporary: temporary})
	if err := plain.Link(t.Context(), "a", "dir://host/l"); transfer.ClassOf(err) != transfer.Unsupported {
		t.Error(err)
	}
}

func TestMoveAndRemove(t *testing.T) {
	b := newBench(t)
	f := b.file("foo", "x")
	f.ModTime = time.Unix(1700000000, 0)
	if _, err := b.s.Send(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	to := "dir://host/in/other/bar"
	for i, want := range []bool{true, false} {
		if moved, err := b.s.Move(t.Context(), f.URL, to); moved != want || err != nil {
			t.Errorf("%d: %v %v", i, moved, err)
		}
	}
	if got := b.there(); got != "in/other/bar=x" {
		t.Errorf("there is %s", got)
	}
	for _, c := range []struct {
		size  int64
		mtime time.Time
		want  bool
	}{{1, f.ModTime, true}, {2, f.ModTime, false}, {1, f.ModTime.Add(time.Second), false}, {1, time.Time{}, false}, {-1, f.ModTime, false}} {
		if has, err := b.s.Has(t.Context(), to, c.size, c.mtime); has != c.want || err != nil {
			t.Errorf("%+v: %v %v", c, has, err)
		}
	}
	if _, err := b.s.Send(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if moved, err := b.s.Move(t.Context(), f.URL, to); moved || err != nil {
		t.Error("moved over another file", err)
	}
	for range 2 {
		if err := b.s.Remove(t.Context(), to); err != nil {
			t.Error(err)
		}
	}
	if got := b.there(); got != "in/sub/foo=x" {
		t.Errorf("there is %s", got)
	}
}

// A temporary directory beside the file is made too; a URL that names no file is refused.
func TestTemporaryDirectory(t *testing.T) {
	b := newBench(t)
	b.s.o.Temporary = func(name string) (string, string) { return "tmp", name }
	f := b.file("a b#%?", "x")
	f.URL = "dir://host/a%20b%23%25%3F"
	if _, err := b.s.Send(t.Context(), f); err != nil || b.there() != "a b#%?=x" || !slices.Contains(b.to.calls, "put /tmp/a b#%?") {
		t.Errorf("%v: %q", err, b.to.calls)
	}
	f.URL = "dir://host//in/a"
	if _, err := b.s.Send(t.Context(), f); err != nil || !slices.Contains(b.to.calls, "put //in/tmp/a") || !slices.Contains(b.to.calls, "mkdir //in") {
		t.Errorf("%v: %q", err, b.to.calls)
	}
	f.URL = "dir://host/in/"
	if _, err := b.s.Send(t.Context(), f); transfer.ClassOf(err) != transfer.Refused {
		t.Error(err)
	}
}
