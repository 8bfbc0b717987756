package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A ledger applies events to a model of the tree, as a consumer would.
type ledger struct {
	mu     sync.Mutex
	files  map[string]int64 // path to size as last reported
	times  map[string]int   // path to how often it was reported
	gone   map[string]int
	events []Event
	wake   chan struct{}
}

func newLedger() *ledger {
	return &ledger{
		files: make(map[string]int64), times: make(map[string]int),
		gone: make(map[string]int), wake: make(chan struct{}, 1),
	}
}

func (l *ledger) emit(_ context.Context, events []Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		l.apply(e)
	}
	l.events = append(l.events, events...)
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return nil
}

func (l *ledger) apply(e Event) {
	if e.Op == Changed {
		l.files[e.Path] = e.Info.Size()
		l.times[e.Path]++
		return
	}
	l.gone[e.Path]++
	delete(l.files, e.Path)
	for path := range l.files {
		if e.Dir && below(path, e.Path) {
			delete(l.files, path)
		}
	}
}

func below(path, dir string) bool {
	return len(path) > len(dir) && path[:len(dir)+1] == dir+"/"
}

// await waits until the ledger satisfies ok.
func (l *ledger) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		l.mu.Lock()
		done := ok()
		l.mu.Unlock()
		if done {
			return
		}
		select {
		case <-l.wake:
		case <-deadline:
			l.mu.Lock()
			defer l.mu.Unlock()
			t.Fatalf("still not: %s; files %v, last events %v", what, l.files, tail(l.events))
		}
	}
}

func tail(events []Event) (s []string) {
	for _, e := range events[max(0, len(events)-20):] {
		s = append(s, fmt.Sprintf("%v %s", e.Op, e.Path))
	}
	return s
}

// awaitTree waits until the model equals what is below root now.
func (l *ledger) awaitTree(t *testing.T, root string) {
	t.Helper()
	want := listing(t, root)
	defer func() {
		if t.Failed() {
			t.Log(difference(l.files, want))
		}
	}()
	l.await(t, "the events give the tree", func() bool { return difference(l.files, want) == "" })
}

func difference(have, want map[string]int64) string {
	for path, size := range want {
		if got, ok := have[path]; !ok || got != size {
			return fmt.Sprintf("%q missing or of another size: %d, want %d", path, got, size)
		}
	}
	for path := range have {
		if _, ok := want[path]; !ok {
			return fmt.Sprintf("%q too much", path)
		}
	}
	return ""
}

func listing(t *testing.T, root string) map[string]int64 {
	t.Helper()
	all := make(map[string]int64)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all[path] = info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// start runs a watcher until the test ends, and returns when it is ready.
func start(t *testing.T, o Options, emit Emit, tune ...func(*Watcher)) *Watcher {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(testLog{t}, nil))
	}
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.choose()
	for _, f := range tune {
		f(w)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx, emit) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
	select {
	case <-w.Ready():
	case <-time.After(30 * time.Second):
		t.Fatal("never ready")
	}
	return w
}

type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) { l.t.Logf("%s", b); return len(b), nil }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// both runs a test with each method.
func both(t *testing.T, f func(t *testing.T, o Options)) {
	base := Options{Settle: 50 * time.Millisecond}
	t.Run("events", func(t *testing.T) {
		o := base
		o.Roots = []string{t.TempDir()}
		f(t, o)
	})
	t.Run("poll", func(t *testing.T) {
		o := base
		o.Roots = []string{t.TempDir()}
		o.Poll, o.PollInterval = true, 20*time.Millisecond
		f(t, o)
	})
}

// Naive watchers lose a fifth of this burst without a word.
func TestBurstInNewDirectories(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		root, l := o.Roots[0], newLedger()
		start(t, o, l.emit)
		for d := range 50 {
			dir := fmt.Sprintf("%s/d%02d", root, d)
			mkdir(t, dir)
			for f := range 100 {
				write(t, fmt.Sprintf("%s/f%03d", dir, f), "x")
			}
		}
		l.awaitTree(t, root)
	})
}

func TestFileInNewPath(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		root, l := o.Roots[0], newLedger()
		start(t, o, l.emit)
		mkdir(t, root+"/a/b/c/d")
		write(t, root+"/a/b/c/d/in.txt", "hello")
		l.awaitTree(t, root)
	})
}

// What is there before Ready is for Walk, not for us.
func TestWhatIsThereIsNotReported(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		root, l := o.Roots[0], newLedger()
		mkdir(t, root+"/d")
		write(t, root+"/d/old", "x")
		start(t, o, l.emit)
		write(t, root+"/d/new", "y")
		l.await(t, "the new file", func() bool { return l.times[root+"/d/new"] == 1 })
		if l.times[root+"/d/old"] != 0 {
			t.Error("a file that was there before is reported")
		}
	})
}

// Create, append, append within the settle time: one report.
func TestCoalesced(t *testing.T) {
	root, l := t.TempDir(), newLedger()
	start(t, Options{Roots: []string{root}, Settle: time.Second}, l.emit)
	f, err := os.Create(root + "/f")
	must(t, err)
	for range 100 {
		_, err := f.WriteString("more\n")
		must(t, err)
	}
	must(t, f.Close())
	l.awaitTree(t, root)
	write(t, root+"/mark", "")
	l.awaitTree(t, root)
	if l.times[root+"/f"] != 1 {
		t.Errorf("reported %d times", l.times[root+"/f"])
	}
}

func TestRemoved(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		root, l := o.Roots[0], newLedger()
		write(t, root+"/f", "x")
		start(t, o, l.emit)
		must(t, os.Remove(root+"/f"))
		l.await(t, "the removal", func() bool { return l.gone[root+"/f"] == 1 })
	})
}

// Made and deleted at once is a removal, once, and nothing else.
func TestMadeAndDeleted(t *testing.T) {
	root, l := t.TempDir(), newLedger()
	start(t, Options{Roots: []string{root}, Settle: time.Second}, l.emit)
	write(t, root+"/f", "x")
	must(t, os.Remove(root+"/f"))
	l.await(t, "the removal", func() bool { return l.gone[root+"/f"] == 1 })
	if l.times[root+"/f"] != 0 {
		t.Error("reported as changed, too")
	}
}

func TestReplacedAtomically(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		root, l := o.Roots[0], newLedger()
		write(t, root+"/f", "old")
		start(t, o, l.emit)
		write(t, root+"/.f.tmp", "newer")
		must(t, os.Rename(root+"/.f.tmp", root+"/f"))
		l.awaitTree(t, root)
	})
}
