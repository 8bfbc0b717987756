package transfertest

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"srpump/pump/transfer"
)

// midway is more than connections and servers have read ahead when the first bytes are here.
const midway = 16 << 20

func unchanged(t *testing.T, b *bench) {
	url := b.put(t, "unchanged", pattern(5000))
	_, body, err := b.read(t, transfer.Whole(url))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{-1, 100} {
		_, _, err = b.read(t, transfer.Request{URL: url, Length: n, IfUnchanged: body.Validator})
		if err != nil {
			t.Errorf("unchanged, length %d: %v", n, err)
		}
	}
	b.put(t, "unchanged", pattern(5001))
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(b.Dir, "unchanged"), later, later); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{-1, 100} {
		_, _, err = b.read(t, transfer.Request{URL: url, Length: n, IfUnchanged: body.Validator})
		want(t, err, transfer.Changed)
	}
}

// shrunk truncates the source while it is read: what was promised does not come.
func shrunk(t *testing.T, b *bench) {
	const size = 64 << 20
	url := b.put(t, "shrunk", nil)
	path := filepath.Join(b.Dir, "shrunk")
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	body, err := b.get.Get(t.Context(), transfer.Whole(url))
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, struct{ io.Reader }{body})
	if n == size {
		t.Fatal("the whole file came")
	}
	checkError(t, err)
	want(t, err, transfer.Temporary)
}

// begun is a source of which the first bytes were read.
type begun struct {
	*transfer.Body
	url, path string
	data      []byte
}

func (b *bench) begin(t *testing.T, name string) begun {
	t.Helper()
	g := begun{path: filepath.Join(b.Dir, name), data: make([]byte, midway)}
	_, _ = rand.NewChaCha8([32]byte{}).Read(g.data)
	g.url = b.put(t, name, g.data)
	var err error
	if g.Body, err = b.get.Get(t.Context(), transfer.Whole(g.url)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	if _, err := io.ReadFull(g.Body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	return g
}

// asItWas reads the rest, which is that of the source as it was, unless the transfer fails.
func (g *begun) asItWas(t *testing.T) {
	t.Helper()
	rest, err := io.ReadAll(g.Body)
	if err != nil {
		checkError(t, err)
		want(t, err, transfer.Temporary)
	} else if !bytes.Equal(rest, g.data[1000:]) {
		t.Errorf("got %d bytes that are not those the source had", len(rest))
	}
	g.Close()
}

// grown appends to the source while it is read: what is more never counts as the file, and the next gets it all.
func grown(t *testing.T, b *bench) {
	g := b.begin(t, "grown")
	more := append(g.data[:midway:midway], "more"...)
	b.put(t, "grown", more)
	g.asItWas(t)
	got, body, err := b.read(t, transfer.Whole(g.url))
	if err != nil || body.Size != midway+4 {
		t.Fatalf("got %+v, %v", body, err)
	}
	same(t, got, more)
}

// vanished removes the source while it is read.
func vanished(t *testing.T, b *bench) {
	g := b.begin(t, "vanished")
	if err := os.Remove(g.path); err != nil {
		t.Fatal(err)
	}
	g.asItWas(t)
	_, _, err := b.read(t, transfer.Whole(g.url))
	want(t, err, transfer.NotFound)
}

// replaced puts another file of the same size in place of the source while it is read: no body is of both, and who
// goes on from the middle is told.
func replaced(t *testing.T, b *bench) {
	g := b.begin(t, "replaced")
	b.put(t, "other", bytes.Repeat([]byte("x"), midway))
	other := filepath.Join(b.Dir, "other")
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(other, later, later); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, g.path); err != nil {
		t.Fatal(err)
	}
	g.asItWas(t)
	for _, off := range []int64{0, 1000} {
		_, _, err := b.read(t, transfer.Request{URL: g.url, Offset: off, Length: -1, IfUnchanged: g.Validator})
		want(t, err, transfer.Changed)
	}
}
