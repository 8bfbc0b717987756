package blocks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"srpump/partition"
	"srpump/post"
)

func announce(n int64) *post.Announcement {
	return &post.Announcement{Topic: "v02.post.d.x", Time: post.At(time.Unix(1700000000, 0)), Base: "http://h/", Path: "d/x", Sum: post.Fingerprint{Method: "d", Value: fmt.Sprintf("%032x", n)},
		Block: partition.Block{Method: partition.Inplace, Size: 100, Count: 10, Remainder: 50, Number: n}, Headers: map[string]any{"mtime": "20200102030405.25", "count": int64(7)}}
}

func record(n int64) Record {
	a := announce(n)
	return Record{Number: n, Sum: a.Sum, Came: a, Made: a, Kept: n%2 == 1}
}

func file(t *testing.T) File {
	t.Helper()
	v, err := VersionOf(announce(0), time.Unix(1700000000, 0))
	if err != nil {
		t.Fatal(err)
	}
	return File{Root: "/root", Path: "d/x", Version: v, Temp: TempID{Inode: 5, Born: 6}}
}

func store(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := OpenStore(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func begin(t *testing.T, s *Store) *Journal {
	t.Helper()
	j, err := s.Create("/root/d/x", file(t))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

var nothing = func() error { return nil }

// What Add returned from is there when the journal is opened again; records come back in the order of the
// blocks, as they were announced and with what hooks made of them.
func TestJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blocks")
	j := begin(t, store(t, dir))
	for _, n := range []int64{7, 0, 3} {
		r := record(n)
		if n == 3 {
			r.Made = announce(n)
			r.Made.Headers["more"] = "yes"
			r.Silent = true
		}
		if _, err := j.Add(r, nothing); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(j.Drop(0), j.Close()); err != nil {
		t.Fatal(err)
	}
	s := store(t, dir)
	j, err := s.Open("/root/d/x")
	if err != nil || !s.Knows("/root/d/x") || s.Knows("/root/d/y") {
		t.Fatal(err)
	}
	defer j.Close()
	if got := j.File(); got != file(t) {
		t.Errorf("of %+v", got)
	}
	var seen []int64
	err = j.Each(func(r Record) error {
		seen = append(seen, r.Number)
		if r.Came.Block.Number != r.Number || r.Came.Headers["count"] != int64(7) || !r.Came.Time.Time().Equal(time.Unix(1700000000, 0)) || !r.Kept ||
			r.Silent != (r.Number == 3) || (r.Made.Header("more") == "yes") != (r.Number == 3) {
			t.Errorf("%+v came %+v", r, r.Came)
		}
		return nil
	})
	if err != nil || !slices.Equal(seen, []int64{3, 7}) || j.Has(0) || j.Complete() {
		t.Errorf("%v %v", seen, err)
	}
	if here, fetched := j.Counts(); here != 2 || fetched != 0 {
		t.Errorf("%d here, %d fetched", here, fetched)
	}
	if _, ok, err := j.Find(0); ok || err != nil {
		t.Errorf("a dropped block is found: %v", err)
	}
}

// A kill may cut the last line anywhere, and a power cut leave anything behind it: what was promised is read,
// and writing goes on there.
func TestTornTail(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blocks")
	j := begin(t, store(t, dir))
	for n := range int64(3) {
		if _, err := j.Add(record(n), nothing); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	paths, _ := filepath.Glob(dir + "/*")
	whole, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	last := strings.LastIndexByte(strings.TrimSuffix(string(whole), "\n"), '\n') + 1
	for cut := last; cut < len(whole); cut += 17 {
		for _, tail := range []string{"", "\x00\x00\x00", string(whole[last:])} {
			if err := os.WriteFile(paths[0], append(slices.Clone(whole[:cut]), tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			j, err := store(t, dir).Open("/root/d/x")
			if err != nil {
				t.Fatal(err)
			}
			if tail == "" && (!j.Has(0) || !j.Has(1) || j.Has(2)) {
				t.Fatalf("cut at %d of %d", cut, len(whole))
			}
			if _, err := j.Add(record(5), nothing); err != nil {
				t.Fatal(err)
			}
			j.Close()
			if j, err = store(t, dir).Open("/root/d/x"); err != nil || !j.Has(5) || !j.Has(1) {
				t.Fatalf("cut at %d: what was added is not there: %v", cut, err)
			}
			j.Close()
		}
	}
	if err := os.WriteFile(paths[0], whole[:20], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store(t, dir).Open("/root/d/x"); !errors.Is(err, ErrEmpty) {
		t.Errorf("without a first line: %v", err)
	}
}

// A record is read where it is, whatever stands before it; one that is damaged since is an error.
func TestFind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blocks")
	s := store(t, dir)
	j := begin(t, s)
	defer func() { j.Close() }()
	for _, n := range []int64{4, 2, 9} {
		if _, err := j.Add(record(n), nothing); err != nil {
			t.Fatal(err)
		}
	}
	find := func() {
		t.Helper()
		for _, n := range []int64{2, 9} {
			if r, ok, err := j.Find(n); !ok || err != nil || r.Number != n || r.Came.Block.Number != n {
				t.Errorf("block %d: %+v %v %v", n, r, ok, err)
			}
		}
	}
	find()
	j.Close()
	var err error
	if j, err = s.Open("/root/d/x"); err != nil {
		t.Fatal(err)
	}
	find()
	if _, err := j.f.WriteAt([]byte("damaged"), j.lines[4]-1); err != nil {
		t.Fatal(err)
	}
	find()
	if r, ok, err := j.Find(4); ok || err == nil {
		t.Errorf("found %+v", r)
	}
}

// Those who add at the same time share one sync; exactly one of them completed the file.
func TestAddTogether(t *testing.T) {
	j := begin(t, store(t, filepath.Join(t.TempDir(), "blocks")))
	defer j.Close()
	var syncs, completed atomic.Int64
	var over sync.WaitGroup
	gate := make(chan struct{})
	for n := range int64(10) {
		over.Go(func() {
			done, err := j.Add(record(n), func() error {
				if syncs.Add(1) == 1 {
					<-gate // the first one holds up the others, which gather
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			if done {
				completed.Add(1)
			}
		})
	}
	for { // until nine have joined
		j.mu.Lock()
		n := 0
		if j.next != nil {
			n = len(j.next.records)
		}
		j.mu.Unlock()
		if n == 9 {
			break
		}
		runtime.Gosched()
	}
	close(gate)
	over.Wait()
	if syncs.Load() != 2 || completed.Load() != 1 || !j.Complete() {
		t.Errorf("%d syncs, completed by %d", syncs.Load(), completed.Load())
	}
}

// What could not be made durable is not here.
func TestNotDurable(t *testing.T) {
	j := begin(t, store(t, filepath.Join(t.TempDir(), "blocks")))
	defer j.Close()
	if _, err := j.Add(record(1), func() error { return fs.ErrPermission }); !errors.Is(err, fs.ErrPermission) || j.Has(1) {
		t.Errorf("%v, here: %v", err, j.Has(1))
	}
}

// A file that is done is remembered by its version until it is swept.
func TestDone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blocks")
	s := store(t, dir)
	j := begin(t, s)
	if err := s.Done("/root/d/x", j); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{s, store(t, dir)} {
		done, err := s.OpenDone("/root/d/x")
		if err != nil || done.File() != file(t) || len(s.Unfinished()) > 0 {
			t.Fatalf("%+v %v", done, err)
		}
		done.Close()
	}
	s.Sweep(time.Now().Add(-time.Hour))
	if !s.Knows("/root/d/x") {
		t.Error("swept too early")
	}
	s.Sweep(time.Now().Add(time.Hour))
	if left, _ := os.ReadDir(dir); len(left) > 0 || s.Knows("/root/d/x") {
		t.Errorf("left %v", left)
	}
}

// What is begun anew and withdrawn leaves what was done before; what is forgotten leaves nothing.
func TestWithdraw(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blocks")
	s := store(t, dir)
	if err := s.Done("/root/d/x", begin(t, s)); err != nil {
		t.Fatal(err)
	}
	j := begin(t, s)
	if _, err := s.OpenDone("/root/d/x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("done while another is open: %v", err)
	}
	if err := errors.Join(j.Close(), s.Withdraw("/root/d/x")); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{s, store(t, dir)} {
		done, err := s.OpenDone("/root/d/x")
		if err != nil || len(s.Unfinished()) > 0 {
			t.Fatal(err)
		}
		done.Close()
	}
	if err := s.Forget("/root/d/x"); err != nil || s.Knows("/root/d/x") {
		t.Errorf("known still, %v", err)
	}
	begin(t, s).Close()
	if err := s.Withdraw("/root/d/x"); err != nil || s.Knows("/root/d/x") {
		t.Errorf("known still, %v", err)
	}
}

// sr_subscribe(1), BLOCKS: which blocks belong together.
func TestVersion(t *testing.T) {
	of := func(change func(*post.Announcement)) Version {
		a := announce(3)
		change(a)
		v, err := VersionOf(a, a.Time.Time())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	base := of(func(*post.Announcement) {})
	later := post.At(time.Unix(1700000009, 0))
	for name, c := range map[string]struct {
		change func(*post.Announcement)
		same   bool
	}{
		"another block":                     {func(a *post.Announcement) { a.Block.Number = 9 }, true},
		"another method":                    {func(a *post.Announcement) { a.Block.Method = partition.Parted }, true},
		"another source, another time":      {func(a *post.Announcement) { a.Base, a.Time = "http://other/", later }, true},
		"the same time of the file":         {func(a *post.Announcement) { a.Headers["mtime"] = "20200102030405.250" }, true},
		"another time of the file":          {func(a *post.Announcement) { a.Headers["mtime"] = "20200102030406.25" }, false},
		"other totals":                      {func(a *post.Announcement) { a.Block.Count = 11 }, false},
		"another remainder":                 {func(a *post.Announcement) { a.Block.Remainder = 51 }, false},
		"no time of the file":               {func(a *post.Announcement) { delete(a.Headers, "mtime") }, false},
		"neither time of the file, another": {func(a *post.Announcement) { delete(a.Headers, "mtime"); a.Time = later }, false},
	} {
		if got := of(c.change).Same(base); got != c.same {
			t.Errorf("%s: %v", name, got)
		}
	}
	a := announce(0)
	a.Block.Count = Most + 1
	if _, err := VersionOf(a, a.Time.Time()); !errors.Is(err, ErrTooMany) {
		t.Errorf("of %d blocks: %v", a.Block.Count, err)
	}
}
