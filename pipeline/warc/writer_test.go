package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Records stand in the order in which they were added, however many are compressed at once,
// and each where it was told to be.
func TestOrder(t *testing.T) {
	var records []*Record
	for i := range 300 {
		records = append(records, exchange(V10, fmt.Sprint("u:", i), strings.Repeat("x", (i*7919)%5000)))
	}
	file, places := written(t, WriteOptions{Workers: 8, Offset: 1000}, records...)
	end := int64(1000)
	for i, p := range places {
		if p.Offset != end {
			t.Fatalf("record %d at %d, not %d", i, p.Offset, end)
		}
		end += p.Length
		rec, err := NewReader(bytes.NewReader(file[p.Offset-1000:]), ReadOptions{}).Next()
		if err != nil || rec.URI() != fmt.Sprint("u:", i) {
			t.Fatalf("record %d: %v, %v", i, rec, err)
		}
	}
}

// Several goroutines write at once, and nothing is torn.
func TestConcurrentWriters(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, WriteOptions{SpillAt: 2000})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 20 {
				uri := fmt.Sprintf("u:%d/%d", g, i)
				if _, err := w.Write(exchange(V11, uri, strings.Repeat(uri, i*40))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, faults := readAll(t, &file, ReadOptions{})
	if len(got) != 160 || len(faults) > 0 {
		t.Errorf("%d records, %v", len(got), faults)
	}
}

// A block that is larger than memory goes through a file that leaves nothing behind, and its
// record is the same as one made in memory. With its digests known it needs none.
func TestLargeBlocks(t *testing.T) {
	body := strings.Repeat("0123456789", 50_000)
	for _, plain := range []bool{false, true} {
		r := exchange(V10, "http://a.example/", body)
		same := *r
		want, _ := written(t, WriteOptions{Plain: true}, r)
		dir := t.TempDir()
		same.With(fmt.Sprintf(page, len(body), body)).Size = -1
		got, _ := written(t, WriteOptions{Plain: plain, SpillAt: 1000, TempDir: dir}, &same)
		if !plain {
			got = inflate(t, got)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("plain %v: spilled, it is another record", plain)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		rec, err := NewReader(bytes.NewReader(want), ReadOptions{}).Next()
		if err != nil {
			t.Fatal(err)
		}
		copied, _ := written(t, WriteOptions{Plain: true, SpillAt: 1000, TempDir: "/does/not/exist"}, rec)
		if string(copied) != string(want) {
			t.Error("a copy of a record, streamed, is another record")
		}
	}
}

// What cannot be written is refused before anything is, and the next record is written.
func TestRefused(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, WriteOptions{SpillAt: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	with := func(name, value string) *Record {
		r := exchange(V10, "u:", "body")
		r.Fields.Add(name, value)
		return r
	}
	long := strings.Repeat("x", 500)
	short, failing := exchange(V10, "u:", "body"), New(V10, Resource, "u:", at)
	short.Size++
	failing.Block = io.MultiReader(strings.NewReader(long), iotest.ErrReader(errors.New("gone")))
	shortFile := New(V10, Resource, "u:", at).With(long)
	shortFile.Size++
	for _, r := range []*Record{
		with("X-A", "a\r\nX-B: b"), with("X A", "a"), with("X-A:", "a"), with("X-A", "a\x00"), {Fields: Fields{{FieldType, Info}}},
		{Version: "WARC/1.0\r\nX: y", Fields: short.Fields}, short, failing, shortFile,
	} {
		if _, err := w.Add(r); err == nil {
			t.Errorf("%v is taken", r.Fields)
		}
	}
	if err := w.Flush(); err != nil || file.Len() > 0 || w.Whole() != 0 {
		t.Errorf("%d bytes written, %v", file.Len(), err)
	}
	if p, err := w.Write(with("X-Own", "kept")); err != nil || p.Offset != 0 || p.Length != int64(file.Len()) || w.Whole() != p.Length {
		t.Errorf("%v, %v", p, err)
	}
	if !bytes.Contains(inflate(t, file.Bytes()), []byte("X-Own: kept\r\n")) {
		t.Error("a field of one's own is lost")
	}
}

// A full is a disk with so much room left.
type full struct {
	bytes.Buffer
	room int
}

func (f *full) Write(p []byte) (int, error) {
	n, _ := f.Buffer.Write(p[:min(len(p), f.room-f.Len())])
	if n < len(p) {
		return n, errors.New("no space left")
	}
	return n, nil
}

// A full disk fails the record it tears and all after it; Whole says how far the file is good.
func TestFullDisk(t *testing.T) {
	file, places := written(t, WriteOptions{}, several(4)...)
	disk := &full{room: int(places[2].Offset) + 10}
	w, err := NewWriter(disk, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range several(4) {
		if _, err := w.Write(r); (err == nil) != (i < 2) {
			t.Errorf("record %d: %v", i, err)
		}
	}
	if err := w.Sync(); err == nil {
		t.Error("synced what is not there")
	}
	if w.Close() == nil || w.Whole() >= int64(len(file)) {
		t.Errorf("closed well, whole %d", w.Whole())
	}
	all, faults := readAll(t, bytes.NewReader(disk.Bytes()[:w.Whole()]), ReadOptions{})
	if len(all) != 2 || len(faults) > 0 {
		t.Errorf("%d records, %v", len(all), faults)
	}
	if _, err := w.Add(exchange(V10, "u:", "")); !errors.Is(err, ErrClosed) {
		t.Errorf("behind the end: %v", err)
	}
}

// A streamed block that ends too early tears its record; nothing comes behind it.
func TestTornStream(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, WriteOptions{SpillAt: 10, Digest: NoDigest})
	if err != nil {
		t.Fatal(err)
	}
	torn := New(V10, Resource, "u:", at).With(strings.Repeat("x", 100))
	torn.Size = 200
	if _, err := w.Write(torn); !errors.Is(err, errShort) {
		t.Error(err)
	}
	if _, err := w.Write(exchange(V10, "u:", "")); err == nil || w.Whole() != 0 {
		t.Errorf("written behind a torn record: %v", err)
	}
	if w.Close() == nil {
		t.Error("closed well")
	}
}

// Sync reaches the file.
func TestSync(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/a.warc.gz")
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(f, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Add(exchange(V10, "u:", "body")); err != nil {
		t.Fatal(err)
	}
	if err := w.Sync(); err != nil {
		t.Error(err)
	}
	if n, err := sizeOf(f); err != nil || n != w.Whole() || n == 0 {
		t.Errorf("%d bytes of %d, %v", n, w.Whole(), err)
	}
	f.Close()
	if err := w.Sync(); err == nil {
		t.Error("a closed file is synced")
	}
}

// Dates have the digits of their version, and are read in all forms.
func TestDates(t *testing.T) {
	for version, want := range map[string]string{V10: "2023-11-14T22:13:20Z", V11: "2023-11-14T22:13:20.25Z"} {
		if got := FormatDate(version, at.Local()); got != want {
			t.Errorf("%s: %s, not %s", version, got, want)
		}
	}
	for _, s := range []string{"2023-11-14T22:13:20.25Z", "2023-11-14T22:13:20.123456789Z", "2023-11-14T22:13Z", "2023-11-14", "2023-11", "2023"} {
		if _, err := ParseDate(s); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{"", "20231114221320", "2023-11-14T22:13:20+01:00", "2023-13"} {
		if _, err := ParseDate(s); err == nil {
			t.Errorf("%q is a date", s)
		}
	}
}
