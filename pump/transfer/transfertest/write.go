package transfertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"srpump/pump/transfer"
)

// RunWrite checks what one scheme changes: the Getter of the harness is a transfer.Writer too.
func RunWrite(t *testing.T, h Harness) {
	h.run(t, []check{
		{"put", putSizes}, {"put over", putOver}, {"put private", putPrivate}, {"put too few", putWrong}, {"put source fails", putFromFails}, {"put blocks", putBlocks},
		{"put below nothing", putBelowNothing}, {"put denied", putDenied}, {"put names", putNames}, {"put together", putTogether},
		{"put cancelled", putCancelled}, {"put reset", putReset}, {"put stalled", putStalled},
		{"rename", rename}, {"remove", remove}, {"mkdir", mkdir}, {"set", set}, {"write cancelled", writeCancelled},
	})
}

func (b *bench) writer() transfer.Writer { return b.get.(transfer.Writer) }

// send puts data under a name; size is what Put is told.
func (b *bench) send(t *testing.T, url string, data []byte, size int64) error {
	t.Helper()
	// The reader is nothing but a reader: a file or buffer must not be needed.
	from := struct{ io.Reader }{bytes.NewReader(data)}
	n, err := b.writer().Put(t.Context(), transfer.Put{URL: url, From: from, Size: size, Mode: 0o644})
	if err == nil && n != int64(len(data)) {
		t.Errorf("%d bytes were taken of %d", n, len(data))
	}
	return err
}

// holds compares a file of the server with what it should hold.
func (b *bench) holds(t *testing.T, name string, data []byte) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(b.Dir, name))
	if err != nil {
		t.Error(err)
		return
	}
	same(t, got, data)
}

func putSizes(t *testing.T, b *bench) {
	for _, n := range []int{0, 10, 32 << 10, 255<<10 + 1, 3 << 20} {
		for _, told := range []int64{int64(n), -1} {
			name := fmt.Sprintf("put-%d-%d", n, told)
			if err := b.send(t, b.URL(b.Addr, name), pattern(n), told); err != nil {
				t.Errorf("%d bytes, told %d: %v", n, told, err)
				continue
			}
			b.holds(t, name, pattern(n))
		}
	}
}

// putOver empties what was there first.
func putOver(t *testing.T, b *bench) {
	url := b.put(t, "over", pattern(100_000))
	must(t, b.send(t, url, pattern(10), 10))
	b.holds(t, "over", pattern(10))
}

// putPrivate gives a file its mode, also one that is there with another, by a server that sets modes.
func putPrivate(t *testing.T, b *bench) {
	url := b.put(t, "private", pattern(100))
	if err := b.writer().Set(t.Context(), url, transfer.Attributes{Mode: 0o644}); err != nil {
		fails(t, err, "set", transfer.Unsupported)
		return
	}
	for _, name := range []string{"private", "private-new"} {
		_, err := b.writer().Put(t.Context(), transfer.Put{URL: b.URL(b.Addr, name), From: bytes.NewReader(pattern(10)), Size: 10, Mode: 0o600})
		must(t, err)
		b.holds(t, name, pattern(10))
		if fi, err := os.Stat(filepath.Join(b.Dir, name)); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: the mode is %v, %v", name, fi.Mode(), err)
		}
	}
}

// putWrong has a source that gives other than it should: that is never a success.
func putWrong(t *testing.T, b *bench) {
	for _, n := range []int{0, 100, 1 << 20} {
		for _, told := range []int64{int64(n) + 1, int64(n) - 1, int64(n) + 1<<20} {
			if told < 0 {
				continue
			}
			if err := b.send(t, b.URL(b.Addr, "wrong"), pattern(n), told); err == nil {
				t.Errorf("a source of %d bytes passed for one of %d", n, told)
			} else {
				checkOp(t, err, "put")
			}
		}
	}
}

func putFromFails(t *testing.T, b *bench) {
	broken := errors.New("the source is broken")
	for _, n := range []int{0, 100, 1 << 20} {
		for _, told := range []int64{-1, 2 << 20} {
			from := io.MultiReader(bytes.NewReader(pattern(n)), &failing{broken})
			_, err := b.writer().Put(t.Context(), transfer.Put{URL: b.URL(b.Addr, "broken"), From: from, Size: told})
			if err != broken {
				t.Errorf("after %d bytes: got %v", n, err)
			}
		}
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// putBlocks fills a file from its end to its beginning, and then one of its blocks again.
func putBlocks(t *testing.T, b *bench) {
	data := pattern(300_000)
	url := b.URL(b.Addr, "blocks")
	block := func(off, n int64) error {
		got, err := b.writer().Put(t.Context(), transfer.Put{
			URL: url, From: bytes.NewReader(data[off : off+n]), Size: n, Offset: off, Keep: true,
		})
		if err == nil && got != n {
			t.Errorf("%d bytes were taken of %d", got, n)
		}
		return err
	}
	for off := int64(200_000); off >= 0; off -= 100_000 {
		err := block(off, 100_000)
		if transfer.ClassOf(err) == transfer.Unsupported {
			t.Skip(err)
		}
		must(t, err)
	}
	b.holds(t, "blocks", data)
	must(t, os.WriteFile(filepath.Join(b.Dir, "blocks"), make([]byte, 300_000), 0o644))
	must(t, block(150_000, 10))
	b.holds(t, "blocks", append(append(make([]byte, 150_000), data[150_000:150_010]...), make([]byte, 149_990)...))
}

func putBelowNothing(t *testing.T, b *bench) {
	fails(t, b.send(t, b.URL(b.Addr, "no such directory/file"), nil, 0), "put", transfer.NotFound)
}

// denied makes a directory in which nobody may make anything; root may everywhere but in /sys.
func (b *bench) denied(t *testing.T) {
	t.Helper()
	path := filepath.Join(b.Dir, "denied")
	if os.Getuid() == 0 {
		must(t, os.Symlink("/sys", path))
		return
	}
	must(t, os.Mkdir(path, 0o555))
}

func putDenied(t *testing.T, b *bench) {
	b.denied(t)
	fails(t, b.send(t, b.URL(b.Addr, "denied/file"), []byte("x"), 1), "put", transfer.Forbidden)
}

func putNames(t *testing.T, b *bench) {
	b.dir(t, "odd")
	for _, name := range b.oddNames() {
		url := b.URL(b.Addr, "odd/"+name)
		other := b.URL(b.Addr, "odd/other "+name)
		if err := b.send(t, url, []byte(name), int64(len(name))); err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		b.holds(t, "odd/"+name, []byte(name))
		if err := b.writer().Rename(t.Context(), url, other); err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		b.holds(t, "odd/other "+name, []byte(name))
		if err := b.writer().Remove(t.Context(), other); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(b.Dir, "odd")); len(left) != 0 {
		t.Errorf("%d are left, such as %q", len(left), left[0].Name())
	}
}

func putTogether(t *testing.T, b *bench) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 4 {
				name := fmt.Sprintf("together-%d-%d", i, n)
				data := pattern(100_000 + i*1000 + n)
				if err := b.send(t, b.URL(b.Addr, name), data, int64(len(data))); err != nil {
					t.Error(err)
					return
				}
				b.holds(t, name, data)
			}
		})
	}
	wg.Wait()
}

// putCancelled has a source without end.
func putCancelled(t *testing.T, b *bench) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	from := &endless{after: 1 << 20, then: cancel}
	_, err := b.writer().Put(ctx, transfer.Put{URL: b.URL(b.Addr, "cancelled"), From: from, Size: -1})
	fails(t, err, "put", transfer.Cancelled)
	must(t, b.send(t, b.URL(b.Addr, "after"), []byte("x"), 1))
}

// endless gives zeros for ever, and says when it gave so many.
type endless struct {
	after int
	then  func()
}

func (e *endless) Read(p []byte) (int, error) {
	if e.after -= len(p); e.after < 0 {
		e.then()
	}
	clear(p)
	return len(p), nil
}

// putReset cuts the connection at every tenth of the transfer; a success would be one.
func putReset(t *testing.T, b *bench) {
	if b.Addr == "" {
		t.Skip("no connection to cut")
	}
	data := pattern(1 << 20)
	addr, _, up := b.relayCount(t)
	must(t, b.send(t, b.URL(addr, "reset"), data, int64(len(data))))
	for tenth := range int64(10) {
		addr := b.relayUp(t, up.Load()*tenth/10, (*link).cut)
		if err := b.send(t, b.URL(addr, "reset"), data, int64(len(data))); err != nil {
			fails(t, err, "put", transfer.Temporary)
		} else {
			b.holds(t, "reset", data)
		}
	}
}

func putStalled(t *testing.T, b *bench) {
	if b.Addr == "" {
		t.Skip("no connection to stall")
	}
	b.hasten()
	data := pattern(32 << 20)
	for _, after := range []int64{0, 500_000} {
		addr := b.relayUp(t, after, (*link).stall)
		fails(t, b.send(t, b.URL(addr, "stalled"), data, int64(len(data))), "put", transfer.Temporary)
	}
}

func rename(t *testing.T, b *bench) {
	from, to := b.put(t, "from", []byte("new")), b.put(t, "to", []byte("old"))
	must(t, b.writer().Rename(t.Context(), from, to))
	b.holds(t, "to", []byte("new"))
	if _, err := os.Lstat(filepath.Join(b.Dir, "from")); err == nil {
		t.Error("the old name is still there")
	}
	must(t, b.writer().Rename(t.Context(), to, b.URL(b.Addr, "fresh")))
	b.holds(t, "fresh", []byte("new"))
	fails(t, b.writer().Rename(t.Context(), from, to), "rename", transfer.NotFound)
}

func remove(t *testing.T, b *bench) {
	b.dir(t, "removed", "file", "target")
	in := func(name string) string { return filepath.Join(b.Dir, "removed", name) }
	must(t, os.Symlink("target", in("link")))
	must(t, os.Symlink(".", in("to directory")))
	must(t, os.Mkdir(in("directory"), 0o755))
	for _, name := range []string{"file", "link", "to directory", "directory"} {
		if err := b.writer().Remove(t.Context(), b.URL(b.Addr, "removed/"+name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(in(name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	b.holds(t, "removed/target", []byte("target"))
	fails(t, b.writer().Remove(t.Context(), b.URL(b.Addr, "removed/file")), "remove", transfer.NotFound)
	if err := b.writer().Remove(t.Context(), b.URL(b.Addr, "removed")); err == nil {
		t.Error("a directory with a file in it was removed")
	} else {
		checkOp(t, err, "remove")
	}
	b.holds(t, "removed/target", []byte("target"))
}

func mkdir(t *testing.T, b *bench) {
	for _, name := range []string{"made", "made/a/b/c", "made/a/b/c", "made/a", "with blank/été"} {
		if err := b.writer().Mkdir(t.Context(), b.URL(b.Addr, name), 0o755); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if fi, err := os.Stat(filepath.Join(b.Dir, name)); err != nil || !fi.IsDir() {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.put(t, "in the way", nil)
	for _, name := range []string{"in the way", "in the way/a"} {
		if err := b.writer().Mkdir(t.Context(), b.URL(b.Addr, name), 0o755); err == nil {
			t.Errorf("%s was made over a file", name)
		} else {
			checkOp(t, err, "mkdir")
		}
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := b.writer().Mkdir(t.Context(), b.URL(b.Addr, "race"+strings.Repeat("/d", 10)), 0o755); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func set(t *testing.T, b *bench) {
	url := b.put(t, "set", []byte("x"))
	path := filepath.Join(b.Dir, "set")
	then := time.Date(2015, 8, 13, 16, 19, 59, 0, time.UTC)
	switch err := b.writer().Set(t.Context(), url, transfer.Attributes{Mode: 0o640}); {
	case err == nil:
		if fi, err := os.Stat(path); err != nil || fi.Mode() != 0o640 {
			t.Errorf("the mode is %v, %v", fi.Mode(), err)
		}
	default:
		fails(t, err, "set", transfer.Unsupported)
	}
	switch err := b.writer().Set(t.Context(), url, transfer.Attributes{ModTime: then}); {
	case err == nil:
		if fi, err := os.Stat(path); err != nil || !fi.ModTime().Equal(then) {
			t.Errorf("the time is %v, %v", fi.ModTime(), err)
		}
	default:
		fails(t, err, "set", transfer.Unsupported)
	}
	must(t, b.writer().Set(t.Context(), url, transfer.Attributes{}))
	b.holds(t, "set", []byte("x"))
}

func writeCancelled(t *testing.T, b *bench) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	url := b.put(t, "keep", []byte("x"))
	w := b.writer()
	fails(t, w.Remove(ctx, url), "remove", transfer.Cancelled)
	fails(t, w.Rename(ctx, url, b.URL(b.Addr, "other")), "rename", transfer.Cancelled)
	fails(t, w.Mkdir(ctx, b.URL(b.Addr, "never"), 0o755), "mkdir", transfer.Cancelled)
	fails(t, w.Set(ctx, url, transfer.Attributes{Mode: 0o600}), "set", transfer.Cancelled)
	_, err := w.Put(ctx, transfer.Put{URL: url, From: strings.NewReader(""), Size: 0})
	fails(t, err, "put", transfer.Cancelled)
	b.holds(t, "keep", []byte("x"))
}
