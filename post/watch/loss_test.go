package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A syncBuffer keeps a log for a test to read.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) count(phrase string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.b.String(), phrase)
}

func notifierOf(w *Watcher) *notifier { return w.methods[0].(*notifier) }

// The draining loop is held up until the kernel's own queue runs over.
func TestOverflow(t *testing.T) {
	root, l, log := t.TempDir(), newLedger(), new(syncBuffer)
	mkdir(t, root+"/old/gone")
	write(t, root+"/old/f", "x")
	w := start(t, Options{
		Roots: []string{root}, Settle: 50 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	}, l.emit)
	mail := notifierOf(w).mail
	mail.mu.Lock()
	runOver(t, root)
	must(t, os.Remove(root+"/old/gone"))
	must(t, os.Rename(root+"/old", root+"/moved"))
	mkdir(t, root+"/late/dir")
	write(t, root+"/late/dir/f", "late")
	mail.mu.Unlock()
	l.awaitTree(t, root)
	if w.Stats().Overflows == 0 {
		t.Skip("this kernel's queue is too long to run over")
	}
	l.await(t, "the moved directory gone", func() bool { return l.gone[root+"/old"] > 0 })
	write(t, root+"/late/dir/after", "events again")
	write(t, root+"/moved/after", "events again")
	l.awaitTree(t, root)
	if n := log.count("watch overflow"); n != 1 {
		t.Errorf("overflow logged %d times", n)
	}
}

// runOver causes more events than the kernel keeps: writes to two files in
// turn, since equal events in a row are kept as one.
func runOver(t *testing.T, root string) {
	t.Helper()
	var files [2]*os.File
	for i := range files {
		f, err := os.Create(fmt.Sprintf("%s/f%d", root, i))
		must(t, err)
		defer f.Close()
		files[i] = f
	}
	for i := range 60000 {
		_, err := files[i%2].WriteString("x")
		must(t, err)
	}
}

// The mailbox is bounded, too, and what it drops is made good.
func TestMailboxOverflow(t *testing.T) {
	root, l := t.TempDir(), newLedger()
	w := start(t, Options{Roots: []string{root}, Settle: 50 * time.Millisecond}, l.emit)
	mail := notifierOf(w).mail
	mail.mu.Lock()
	mkdir(t, root+"/a/b")
	write(t, root+"/a/b/f", "x")
	mail.notes = make([]fsnotify.Event, mailboxMax)
	mail.mu.Unlock()
	l.awaitTree(t, root)
	l.await(t, "a re-walk", func() bool { return w.Stats().Rewalks > 0 || w.Stats().Overflows == 0 })
}

// Beyond the limit of watches, subtrees are polled, with one line in the log.
func TestWatchLimit(t *testing.T) {
	root, l, log := t.TempDir(), newLedger(), new(syncBuffer)
	mkdir(t, root+"/there/deep")
	write(t, root+"/there/deep/old", "x")
	o := Options{
		Roots: []string{root}, Settle: 50 * time.Millisecond, PollInterval: 20 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	}
	w := start(t, o, l.emit, func(w *Watcher) {
		n := notifierOf(w)
		n.add = func(path string) error {
			if path != root {
				return syscall.ENOSPC
			}
			return n.fs.Add(path)
		}
	})
	write(t, root+"/there/deep/new", "y")
	mkdir(t, root+"/later/deep")
	write(t, root+"/later/deep/f", "z")
	l.await(t, "both new files", func() bool {
		return l.times[root+"/there/deep/new"] > 0 && l.times[root+"/later/deep/f"] > 0
	})
	if l.times[root+"/there/deep/old"] != 0 {
		t.Error("a file that was there before is reported")
	}
	must(t, os.RemoveAll(root+"/later"))
	l.await(t, "the removal", func() bool { return l.gone[root+"/later"] > 0 && len(l.files) == 1 })
	if n := log.count("watch limit"); n != 1 {
		t.Errorf("limit logged %d times", n)
	}
	if s := w.Stats(); s.Polled == 0 || s.Watched != 1 {
		t.Errorf("stats %+v", s)
	}
}

// A directory that cannot be watched is tried again.
func TestDeniedThenGranted(t *testing.T) {
	root, l := t.TempDir(), newLedger()
	mkdir(t, root+"/d")
	var granted bool
	w := start(t, Options{Roots: []string{root}, Settle: 50 * time.Millisecond}, l.emit, func(w *Watcher) {
		n := notifierOf(w)
		n.add = func(path string) error {
			if path == root+"/d" && !granted {
				granted = true
				return syscall.EACCES
			}
			return n.fs.Add(path)
		}
	})
	if w.Stats().Unreadable != 1 {
		t.Errorf("stats %+v", w.Stats())
	}
	write(t, root+"/d/f", "x")
	must(t, os.Chmod(root+"/d", 0o750))
	l.awaitTree(t, root)
}

// While the consumer is held up, paths gather and none is lost.
func TestBackPressure(t *testing.T) {
	root, l := t.TempDir(), newLedger()
	open := make(chan struct{})
	emit := func(ctx context.Context, events []Event) error {
		select {
		case <-open:
		case <-ctx.Done():
			return ctx.Err()
		}
		return l.emit(ctx, events)
	}
	w := start(t, Options{Roots: []string{root}, Settle: time.Millisecond}, emit)
	for i := range 3000 {
		write(t, fmt.Sprintf("%s/f%d", root, i%1000), fmt.Sprint(i))
	}
	if n := w.Stats().Pending; n > 1000 {
		t.Errorf("%d paths pending of 1000", n)
	}
	close(open)
	l.awaitTree(t, root)
}

// What the consumer refused is still pending after the end.
func TestRefused(t *testing.T) {
	root, refusal := t.TempDir(), errors.New("the broker is gone")
	w, err := New(Options{Roots: []string{root}, Settle: time.Millisecond})
	must(t, err)
	done := make(chan error)
	go func() {
		done <- w.Run(t.Context(), func(context.Context, []Event) error { return refusal })
	}()
	<-w.Ready()
	write(t, root+"/f", "x")
	if err := <-done; !errors.Is(err, refusal) {
		t.Errorf("Run returned %v", err)
	}
	if left := w.Pending(); len(left) != 1 || left[0] != root+"/f" {
		t.Errorf("pending %q", left)
	}
}

// What a stop leaves is not what is as it was reported: an announcer that keeps a sum with the file changes
// its attributes.
func TestOwnIsNotPending(t *testing.T) {
	for text, want := range map[string]int{"": 0, "changed": 1} {
		root := t.TempDir()
		w, err := New(Options{Roots: []string{root}})
		must(t, err)
		write(t, root+"/f", "x")
		info, err := os.Lstat(root + "/f")
		must(t, err)
		w.Own(root+"/f", info)
		w.pending.touch(root+"/f", attrib, 0)
		if text != "" {
			write(t, root+"/f", text)
		}
		if left := w.Pending(); len(left) != want {
			t.Errorf("%q written: %v are left", text, left)
		}
	}
}

// A file appended to without rest is reported as busy, and not starved.
func TestBusy(t *testing.T) {
	p := newPending(0) // the longest it is held back
	p.touch("f", content, time.Hour)
	batch, _ := p.take(1)
	if len(batch) != 1 || p.quietFor(batch[0]) >= batch[0].hold {
		t.Errorf("took %v", batch)
	}
}

// A young file waits, one from the future no longer than that.
func TestMinAge(t *testing.T) {
	root, l := t.TempDir(), newLedger()
	start(t, Options{Roots: []string{root}, Settle: time.Millisecond, MinAge: 700 * time.Millisecond}, l.emit)
	write(t, root+"/f", "x")
	write(t, root+"/old", "x")
	must(t, os.Chtimes(root+"/old", time.Time{}, time.Unix(1e9, 0)))
	write(t, root+"/future", "x")
	must(t, os.Chtimes(root+"/future", time.Time{}, time.Now().Add(time.Hour)))
	l.awaitTree(t, root)
	for _, e := range l.events {
		if age := time.Since(e.Info.ModTime()); e.Path == root+"/f" && age < 700*time.Millisecond {
			t.Errorf("reported at the age of %v", age)
		}
	}
}

// A re-walk heals what no event told, and repeats nothing that was reported.
func TestRescanHeals(t *testing.T) {
	root, l := t.TempDir(), newLedger()
	mkdir(t, root+"/d")
	w := start(t, Options{
		Roots: []string{root}, Settle: 200 * time.Millisecond, Rescan: time.Nanosecond,
	}, l.emit)
	write(t, root+"/f", "x")
	l.awaitTree(t, root)
	must(t, notifierOf(w).fs.Remove(root+"/d"))
	write(t, root+"/d/g", "x")
	l.awaitTree(t, root)
	if n := l.times[root+"/f"]; n != 1 {
		t.Errorf("reported %d times", n)
	}
}
