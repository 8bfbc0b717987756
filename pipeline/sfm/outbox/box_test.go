package outbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/pipeline/spool"
)

// What is put in has the properties of SFM's services, and numbers grow also behind what an earlier
// process left, and when the clock goes back.
func TestPut(t *testing.T) {
	dir, at := t.TempDir(), time.Unix(1000, 0)
	now := func() time.Time { return at }
	open := func() *Box {
		b, err := Open(dir, Message("sfm_exchange"), now)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := open()
	first := b.Next(0)
	for range 2 { // the same message twice is one file
		if err := b.Put(first, "harvest.status.flickr.flickr_user", "a/1", nil, []byte(`{"id":"a/1"}`)); err != nil {
			t.Fatal(err)
		}
	}
	names, err := spool.List(dir)
	if err != nil || len(names) != 1 {
		t.Fatalf("names are %q, %v", names, err)
	}
	p, err := spool.Read(dir, names[0])
	if err != nil || p.Exchange != "sfm_exchange" || p.ContentType != "application/json" || p.ContentEncoding != "utf-8" || p.Transient ||
		p.Key != "harvest.status.flickr.flickr_user" || string(p.Body) != `{"id":"a/1"}` {
		t.Fatalf("read %+v, %v", p, err)
	}
	if number, key, order := spool.Parts(names[0]); number != first || key != p.Key || order != spool.Escape("a/1") {
		t.Fatalf("name %q is %d, %q, %q", names[0], number, key, order)
	}
	at = time.Unix(500, 0)
	b = open()
	if n := b.Next(0); n <= first {
		t.Errorf("%d is not behind %d", n, first)
	}
	if n := b.Next(first + 100); n < first+100 {
		t.Errorf("%d is not behind what was said", n)
	}
	if err := spool.Remove(dir, names[0]); err != nil {
		t.Fatal(err)
	}
	if names, _ = spool.List(dir); len(names) != 0 {
		t.Errorf("left are %q", names)
	}
}

// Of a message that cannot be left nothing takes room.
func TestPutFails(t *testing.T) {
	dir := t.TempDir()
	b, err := Open(dir, Message("sfm_exchange"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, spool.Name(1, "k", "o")), 0o775); err != nil {
		t.Fatal(err)
	}
	if err := b.Put(1, "k", "o", nil, []byte("{}")); err == nil {
		t.Fatal("it replaces a directory")
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("%s is left", e.Name())
		}
	}
	if err != nil {
		t.Error(err)
	}
}
