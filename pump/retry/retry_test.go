package retry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"srpump/partition"
	"srpump/post"
)

var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

type hand struct{ t time.Time }

func (h *hand) now() time.Time { return h.t }

func open(t *testing.T, dir string, o Options) (*Queue, *hand) {
	t.Helper()
	h := &hand{epoch}
	if o.Now == nil {
		o.Now = h.now
	}
	q, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	return q, h
}

func say(path, sum string, at int) *post.Announcement {
	return &post.Announcement{Topic: "v02.post.d", Time: post.At(epoch.Add(time.Duration(at) * time.Second)), Base: "http://h/", Path: path,
		Sum: post.Fingerprint{Method: "d", Value: sum}, Block: partition.WholeFile(12), Headers: map[string]any{"source": "alice"}}
}

func add(t *testing.T, q *Queue, a *post.Announcement, class Class) bool {
	t.Helper()
	gaveUp, err := q.Add(a, class, "because")
	if err != nil {
		t.Fatal(err)
	}
	return gaveUp
}

// late is after every delay.
func late(h *hand) time.Time { h.t = h.t.Add(10 * time.Minute); return h.t }

func TestBackOff(t *testing.T) {
	q, h := open(t, t.TempDir(), Options{})
	add(t, q, say("p", "aa", 0), Temporary)
	want := firstDelay
	for tries := 1; tries < 14; tries++ {
		wait := q.NextDue().Sub(h.t)
		if wait < want*3/4 || wait > want*5/4 {
			t.Errorf("after %d tries: %v, want about %v", tries, wait, want)
		}
		if es := q.Due(h.t.Add(wait-1), 9); len(es) != 0 {
			t.Fatalf("early: %d", len(es))
		}
		h.t = h.t.Add(wait)
		es := q.Due(h.t, 9)
		if len(es) != 1 || es[0].Tries != tries || es[0].Why != "because" || !es[0].Since.Equal(epoch) {
			t.Fatalf("%+v", es)
		}
		if !q.Pending("p") || q.Len() != 1 || !q.NextDue().IsZero() {
			t.Error("in flight, yet not pending")
		}
		if gaveUp, err := q.Fail(es[0], Temporary, "because"); gaveUp || err != nil {
			t.Fatal(gaveUp, err)
		}
		want = min(want*2, maxDelay)
	}
}

func TestGivenUp(t *testing.T) {
	for class, o := range map[Class]Options{Temporary: {TTL: time.Hour}, Permanent: {MaxPermanent: 3}, Hopeless: {}} {
		dir := t.TempDir()
		q, h := open(t, dir, o)
		gaveUp, tries := add(t, q, say("a b", "aa", 0), class), 1
		for ; !gaveUp; tries++ {
			es := q.Due(late(h), 1)
			var err error
			if gaveUp, err = q.Fail(es[0], class, "still"); err != nil {
				t.Fatal(err)
			}
		}
		if want := map[Class]int{Temporary: 7, Permanent: 3, Hopeless: 1}[class]; tries != want {
			t.Errorf("%s: %d tries, want %d", class, tries, want)
		}
		if q.Len() != 0 || q.Pending("a b") {
			t.Errorf("%s: still there", class)
		}
		var rec deadLetter
		b, _ := os.ReadFile(filepath.Join(dir, deadLetterFile))
		if err := json.Unmarshal(b, &rec); err != nil || rec.Tries != tries || rec.Headers["sum"] != "d,aa" || !strings.Contains(*rec.Notice, "http://h/ a%20b") {
			t.Errorf("%s: dead letter %s: %v", class, b, err)
		}
		q.Close()
		if q, _ := open(t, dir, o); q.Len() != 0 {
			t.Errorf("%s: back after a restart", class)
		}
	}
}

func TestRestart(t *testing.T) {
	dir := t.TempDir()
	q, h := open(t, dir, Options{})
	for i := range 5 {
		add(t, q, say(fmt.Sprint("p", i), "aa", 0), Temporary)
	}
	es := q.Due(late(h), 3)
	if err := q.Done(es[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Fail(es[1], Permanent, "404"); err != nil {
		t.Fatal(err)
	}
	q.Close()
	q, _ = open(t, dir, Options{Now: h.now})
	if q.Len() != 4 || q.Pending(es[0].Announcement.Path) {
		t.Fatalf("%d entries, want 4", q.Len())
	}
	for _, e := range q.Due(epoch.Add(time.Hour), 9) {
		want := 1
		if e.Announcement.Path == es[1].Announcement.Path {
			want = 2
		}
		if e.Tries != want {
			t.Errorf("%q: %d tries, want %d", e.Announcement.Path, e.Tries, want)
		}
	}
}

func TestSuperseded(t *testing.T) {
	dir := t.TempDir()
	q, h := open(t, dir, Options{})
	add(t, q, say("p", "aa", 1), Temporary)
	flying := q.Due(late(h), 1)
	add(t, q, say("p", "bb", 2), Temporary)
	add(t, q, say("p", "cc", 3), Temporary)
	add(t, q, say("q", "cc", 1), Temporary)
	if n, err := q.Cancel("p", epoch.Add(2*time.Second)); n != 2 || err != nil {
		t.Fatalf("cancelled %d, %v", n, err)
	}
	if err := q.Done(flying[0]); err != nil {
		t.Error(err)
	}
	if gaveUp, err := q.Fail(flying[0], Hopeless, "late"); gaveUp || err != nil {
		t.Errorf("cancelled, then failed: %v %v", gaveUp, err)
	}
	if q.Len() != 2 || !q.Pending("p") {
		t.Errorf("%d entries", q.Len())
	}
	q.Close()
	if q, _ := open(t, dir, Options{}); q.Len() != 2 {
		t.Errorf("after a restart %d entries", q.Len())
	}
}

// The same thing announced again while an entry is in flight: what the flight says is about the old one.
func TestReplaced(t *testing.T) {
	dir := t.TempDir()
	q, h := open(t, dir, Options{})
	add(t, q, say("p", "aa", 1), Temporary)
	e := q.Due(late(h), 1)[0]
	add(t, q, say("p", "aa", 1), Temporary)
	if !q.NextDue().IsZero() {
		t.Error("an equal one took the place")
	}
	add(t, q, say("p", "aa", 5), Temporary)
	if err := q.Done(e); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if q.Len() != 1 {
			t.Fatalf("%d entries, want the newer one", q.Len())
		}
		q.Close()
		q, _ = open(t, dir, Options{})
	}
	if e := q.Due(late(h), 1)[0]; !e.Announcement.Time.Time().Equal(epoch.Add(5*time.Second)) || e.Tries != 1 {
		t.Errorf("%+v", e)
	}
}

func TestEveryTypeSurvives(t *testing.T) {
	q, h := open(t, t.TempDir(), Options{})
	a := say("dir/a #%20\x01ü", "aa", 0)
	a.Headers = map[string]any{"s": "text", "raw": "\xff\xfe", "b": []byte{0, 255}, "t": true, "n": nil, "i8": int8(-3), "i64": int64(math.MaxInt64), "u32": uint32(7),
		"f": float32(1.5), "d": math.NaN(), "when": epoch, "list": []any{"x", int32(1), []any{}}, "table": map[string]any{"k": int16(2), "deep": map[string]any{}},
		"long": strings.Repeat("x", 5000), "link": strings.Repeat("y", 400)}
	want := a.Clone()
	add(t, q, a, Temporary)
	got := q.Due(late(h), 1)[0].Announcement
	if d := got.Headers["d"].(float64); !math.IsNaN(d) {
		t.Errorf("NaN became %v", d)
	}
	delete(want.Headers, "d")
	delete(got.Headers, "d")
	if !reflect.DeepEqual(got.Headers, want.Headers) {
		t.Errorf("headers\n%#v\nwant\n%#v", got.Headers, want.Headers)
	}
	got.Headers, want.Headers = nil, nil
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestMissingSumStaysMissing(t *testing.T) {
	q, h := open(t, t.TempDir(), Options{})
	a := say("p", "", 0)
	a.Sum = post.Fingerprint{}
	add(t, q, a, Temporary)
	e := q.Due(late(h), 1)[0]
	if e.Announcement.Sum != (post.Fingerprint{}) {
		t.Errorf("%+v", e.Announcement.Sum)
	}
	if err := q.Done(e); err != nil || q.Len() != 0 {
		t.Error(err, q.Len())
	}
}

// Lines as the Python tools write them, one of them ended, one damaged.
func TestOldLines(t *testing.T) {
	dir := t.TempDir()
	lines := `["v02.post.sub", {"parts": "1,12,1,0,0", "sum": "d,aa", "n": 5}, "20261121043727.61 http://h/ sub/a%20b"]
["v02.post.sub", {"parts": "1,12,1,0,0", "sum": "d,bb"}, "20261121043727.61 http://h/ sub/c"]
["v02.post.sub", {"sum": "d,bb"
["v02.post.sub", {"_retry_tag_": "done", "parts": "1,12,1,0,0", "sum": "d,bb"}, "20261121043727.61 http://h/ sub/c"]
`
	if err := os.WriteFile(filepath.Join(dir, queueFile), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	q, h := open(t, dir, Options{})
	es := q.Due(h.t, 9)
	if len(es) != 1 || es[0].Announcement.Path != "sub/a b" || es[0].Announcement.Headers["n"] != int64(5) || es[0].Class != Temporary {
		t.Fatalf("%+v", es)
	}
}

func TestLineForOldTools(t *testing.T) {
	dir := t.TempDir()
	q, _ := open(t, dir, Options{})
	add(t, q, say("a b", "aa", 0), Temporary)
	b, _ := os.ReadFile(filepath.Join(dir, queueFile))
	var line []any
	if err := json.Unmarshal(b, &line); err != nil || len(line) != 3 || line[0] != "v02.post.d" || line[2] != "20261121120000.00 http://h/ a%20b" {
		t.Fatalf("%s: %v", b, err)
	}
	for k, v := range line[1].(map[string]any) {
		if _, ok := v.(string); !ok {
			t.Errorf("header %q is no text: %v", k, v)
		}
	}
}

func TestTornAtEveryByte(t *testing.T) {
	dir := t.TempDir()
	q, _ := open(t, dir, Options{})
	for i := range 3 {
		add(t, q, say(fmt.Sprint("p", i), "aa", 0), Temporary)
	}
	q.Close()
	whole, _ := os.ReadFile(filepath.Join(dir, queueFile))
	ends := []int{0}
	for i, c := range whole {
		if c == '\n' {
			ends = append(ends, i)
		}
	}
	for n := range whole {
		if err := os.WriteFile(filepath.Join(dir, queueFile), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, e := range ends[1:] {
			if n >= e {
				want++
			}
		}
		q, _ := open(t, dir, Options{NoSync: true})
		if q.Len() != want {
			t.Fatalf("cut at %d: %d entries, want %d", n, q.Len(), want)
		}
		add(t, q, say("more", "aa", 0), Temporary)
		q.Close()
		q, h := open(t, dir, Options{NoSync: true})
		if got := len(q.Due(late(h), 9)); got != want+1 {
			t.Fatalf("cut at %d, then one more: %d entries, want %d", n, got, want+1)
		}
		q.Close()
	}
}

func TestDiskFull(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	dir := t.TempDir()
	q, h := open(t, dir, Options{})
	add(t, q, say("p", "aa", 0), Temporary)
	e := q.Due(late(h), 1)[0]
	limited(t, uint64(q.store.size)+30, func() {
		if _, err := q.Add(say("q", "aa", 0), Temporary, "x"); !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), q.path) {
			t.Errorf("add: %v", err)
		}
		if _, err := q.Fail(e, Temporary, "x"); !errors.Is(err, syscall.EFBIG) {
			t.Errorf("fail: %v", err)
		}
	})
	if q.Len() != 1 || q.Pending("q") {
		t.Errorf("%d entries", q.Len())
	}
	if _, err := q.Fail(e, Temporary, "x"); err != nil {
		t.Error(err)
	}
	add(t, q, say("q", "aa", 0), Temporary)
	q.Close()
	q, _ = open(t, dir, Options{})
	if es := q.Due(late(h), 9); len(es) != 2 || q.lines != 3 {
		t.Errorf("%d entries in %d lines", len(es), q.lines)
	}
}

func limited(t *testing.T, size uint64, fn func()) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was) }()
	fn()
}

func TestCompaction(t *testing.T) {
	dir := t.TempDir()
	q, h := open(t, dir, Options{NoSync: true})
	add(t, q, say("stays", "aa", 0), Temporary)
	for i := range 3000 {
		add(t, q, say(fmt.Sprint("p", i), "aa", 0), Temporary)
		for _, e := range q.Due(late(h), 9) {
			var err error
			if e.Announcement.Path == "stays" {
				_, err = q.Fail(e, Temporary, "x")
			} else {
				err = q.Done(e)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		h.t = epoch.Add(time.Duration(i) * time.Second)
	}
	if q.lines > 1100 || q.Len() != 1 {
		t.Errorf("%d lines for %d entries", q.lines, q.Len())
	}
	add(t, q, say("after", "aa", 0), Temporary)
	q.Close()
	q, _ = open(t, dir, Options{})
	if !q.Pending("stays") || !q.Pending("after") || q.Len() != 2 {
		t.Errorf("%d entries", q.Len())
	}
}

func TestCannotOpen(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, Options{})
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second: %v", err)
	}
	if _, err := Open("/proc/nothing/here", Options{}); err == nil {
		t.Error("opened in /proc")
	}
}

// Many at once: all are there, and share their syncs.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	q, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := range 40 {
				p := fmt.Sprint("w", w, "/", i)
				if _, err := q.Add(say(p, "aa", i), Temporary, "x"); err != nil {
					t.Error(err)
				}
				for _, e := range q.Due(time.Now().Add(time.Hour), i%3) {
					switch i % 4 {
					case 0:
						_ = q.Done(e)
					case 1:
						_, _ = q.Cancel(e.Announcement.Path, epoch.Add(time.Hour))
					default:
						_, _ = q.Fail(e, Temporary, "y")
					}
				}
			}
		})
	}
	wg.Wait()
	want := q.Len()
	if got := len(q.Due(time.Now().Add(time.Hour), 1000)); got != want {
		t.Errorf("%d due of %d", got, want)
	}
	q.Close()
	if q, _ := open(t, dir, Options{}); q.Len() != want {
		t.Errorf("%d entries after a restart, want %d", q.Len(), want)
	}
}

func TestKill(t *testing.T) {
	if dir := os.Getenv("RETRY_KILL"); dir != "" {
		q, h := open(t, dir, Options{})
		for i := 0; ; i++ {
			add(t, q, say(fmt.Sprint("keep", i), "aa", 0), Temporary)
			add(t, q, say(fmt.Sprint("drop", i), "aa", 0), Temporary)
			for _, e := range q.Due(late(h), 9) {
				if strings.HasPrefix(e.Announcement.Path, "drop") && q.Done(e) != nil {
					os.Exit(1)
				}
			}
			fmt.Println("added", i)
		}
	}
	for round := range 4 {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), "RETRY_KILL="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		last := 0
		for last < 10+round*13 {
			if _, err := fmt.Fscanf(out, "added %d\n", &last); errors.Is(err, io.EOF) {
				t.Fatal("the other process ended")
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		q, _ := open(t, dir, Options{})
		for i := range last + 1 {
			if !q.Pending(fmt.Sprint("keep", i)) || q.Pending(fmt.Sprint("drop", i)) {
				t.Errorf("round %d: entry %d of %d is wrong", round, i, last)
			}
		}
	}
}

func TestDeadLetter(t *testing.T) {
	path := filepath.Join(t.TempDir(), deadLetterFile)
	d := OpenDeadLetter(path)
	d.max = 600
	if err := os.WriteFile(path, []byte(`{"torn`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"one field", "\xff\x00", "", "last"} {
		if err := d.Write("v02.\xffpost", map[string]any{"n": 5, "nan": math.NaN()}, []byte(body), "malformed", epoch); err != nil {
			t.Fatal(err)
		}
	}
	all := ""
	for _, p := range []string{path + ".1", path} {
		b, err := os.ReadFile(p)
		if err != nil || len(b) > 600 {
			t.Errorf("%s: %d bytes, %v", p, len(b), err)
		}
		all += string(b)
	}
	lines := strings.Split(strings.TrimSpace(all), "\n")
	var rec deadLetter
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &rec); err != nil || *rec.Notice != "last" || rec.Why != "malformed" || rec.Headers["n"] != "5" {
		t.Errorf("%q: %v", lines, err)
	}
}

// With NewestFirst what was announced last is taken out first, but what of its path was
// announced before it still comes before.
func TestNewestFirst(t *testing.T) {
	q, h := open(t, t.TempDir(), Options{NewestFirst: true})
	for i, a := range []*post.Announcement{say("old", "aa", 1), say("p", "bb", 2), say("mid", "cc", 3), say("p", "dd", 9), say("new", "ee", 8)} {
		if add(t, q, a, Temporary) {
			t.Fatal(i, "given up")
		}
	}
	h.t = h.t.Add(time.Hour)
	var got []string
	for _, n := range []int{2, 1, 9} { // the heap of what is due outlives a call
		for _, e := range q.Due(h.now(), n) {
			got = append(got, e.Announcement.Path+e.Announcement.Sum.Value)
			if err := q.Done(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s := strings.Join(got, " "); s != "pbb pdd newee midcc oldaa" {
		t.Errorf("taken out: %s", s)
	}
	if q.Len() != 0 || q.index.ready.Len() != 0 {
		t.Errorf("%d left", q.Len())
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
}
