package pump

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"srpump/post/watch"
	"srpump/pump/broker"
	"srpump/pump/config"
)

// start runs a poster and returns how it ends when told to.
func (h *house) start(run func(context.Context) error) (end func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return func() error {
		h.t.Helper()
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(30 * time.Second):
			h.t.Fatal("does not end")
			return nil
		}
	}
}

func (h *house) logged(phrase string) func() bool {
	return func() bool { return strings.Contains(h.log.String(), phrase) }
}

// refused watches base, and announces to an exchange that is not there.
func (h *house) refused() (p *Poster, end func() error) {
	p = h.poster(config.Watch, "-declare_exchange", "off", "-post_on_start", "off", "-sleep", "0.01")
	return p, h.start(func(ctx context.Context) error { return p.Watch(ctx, []string{h.dir + "/base"}) })
}

// A watcher that is stopped while the broker refuses leaves all it owes to the next start:
// what it had not read, and what waits after a refusal.
func TestStopRefused(t *testing.T) {
	h := newHouse(t)
	var names []string
	for i := range 3000 {
		names = append(names, h.write(fmt.Sprintf("base/%04d", i), "x"))
	}
	if err := h.poster(config.Watch).remember(names); err != nil {
		t.Fatal(err)
	}
	p, end := h.refused()
	h.until("refused", h.logged("announcement refused"))
	if err := end(); err != nil {
		t.Fatal(err)
	}
	left, err := p.remembered()
	if err != nil || !slices.Equal(left, names) {
		t.Errorf("%d names remembered, %v", len(left), err)
	}
	if !h.logged("announcements unconfirmed")() {
		t.Error("nothing said of what is unconfirmed")
	}
}

// The same of what a watcher noticed; and the next start announces it.
func TestStopRefusedNew(t *testing.T) {
	h := newHouse(t)
	h.write("base/there", "x")
	p, end := h.refused()
	h.until("watching", h.logged("watching"))
	names := []string{h.write("base/a", "1"), h.write("base/b", "2")}
	h.until("both are under way", func() bool { return p.out.open.Load() == 2 })
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if left, err := p.remembered(); err != nil || !slices.Equal(left, names) {
		t.Errorf("remembered %q, %v", left, err)
	}
	if !h.logged("2 announcements not confirmed")() {
		t.Error("nothing said of what is unconfirmed")
	}
	got := h.capture("xout")
	p, end = h.refused()
	h.until("both are announced", func() bool { return len(got()) == 2 })
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if left, err := p.remembered(); err != nil || len(left) > 0 {
		t.Errorf("still remembered: %q, %v", left, err)
	}
}

// A walk that was stopped before it began, or on its way, still owes the names it did not
// come to.
func TestStopRest(t *testing.T) {
	h := newHouse(t)
	names := []string{h.write("base/a", "x"), h.write("base/b", "x")}
	p := h.poster(config.Watch)
	w, err := watch.New(watch.Options{Roots: []string{h.dir + "/base"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if rest := p.walkWhenReady(ctx, w, nil, names); !slices.Equal(rest, names) {
		t.Errorf("left %q before it began", rest)
	}
	refusal := errors.New("enough")
	rest, err := p.list(t.Context(), names, func(e entry) error {
		if e.path == names[1] {
			return refusal
		}
		return nil
	})
	if !slices.Equal(rest, names[1:]) || !errors.Is(err, refusal) {
		t.Errorf("left %q, %v on its way", rest, err)
	}
}

// Whatever waits after a refusal is told once that it is over, and counted in the error.
func TestAnnouncerCloses(t *testing.T) {
	h := newHouse(t)
	p := h.poster(config.Watch, "-declare_exchange", "off")
	var n Counters
	a, err := newAnnouncer(t.Context(), h.conn(), route{exchange: "xout"}, p.cfg, p.host, &n)
	if err != nil {
		t.Fatal(err)
	}
	a.patient = true
	var mu sync.Mutex
	ends := make(map[int][]error)
	for i := range 10 {
		err := a.send(t.Context(), announced("http://h/", "f", "x", int64(i)), func(err error) {
			mu.Lock()
			defer mu.Unlock()
			ends[i] = append(ends[i], err)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	h.until("refused", h.logged("announcement refused"))
	if err := a.close(t.Context()); !errors.Is(err, broker.ErrNotFound) || !strings.Contains(err.Error(), "10 announcements") {
		t.Errorf("close said %v", err)
	}
	for i := range 10 {
		if len(ends[i]) != 1 || !errors.Is(ends[i][0], broker.ErrClosed) {
			t.Errorf("%d ended with %v", i, ends[i])
		}
	}
	if a.again(&refusal{}); a.refusals != nil || n.Announced.Load() != 0 {
		t.Error("something is tried after close")
	}
}

// sr_watch(1), events: a file that is gone when it is to be read is a removal, and removals
// may be unwanted.
func TestVanishedUnwanted(t *testing.T) {
	for events, want := range map[string]int64{"create,modify": 0, "create,delete": 1} {
		h := newHouse(t)
		p := h.poster(config.Post, "-events", events)
		path := h.write("base/f", "x")
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		stop, err := p.start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		p.announceEntry(t.Context(), entry{path: path, info: info})
		if err := stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := p.Counters.Announced.Load(); n != want || p.Counters.Failed.Load() != 0 {
			t.Errorf("events %s: %d announced, not %d", events, n, want)
		}
	}
}

// stillPipe is the writing end of a pipe that is full and that nobody reads.
func stillPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	size, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0)
	if err == nil {
		_, err = w.Write(bytes.Repeat([]byte("\n"), size))
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// One signal stops a poster, whatever it waits for.
func TestPostStops(t *testing.T) {
	sent := func(p *Poster) func() bool {
		return func() bool { return len(p.owed.paths()) == 1 && p.out.open.Load() == 1 }
	}
	t.Run("reader", func(t *testing.T) {
		h := newHouse(t)
		h.write("base/f", "x")
		p := h.poster(config.Post, "-post_broker", "-")
		p.host.Stdout = stillPipe(t)
		end := h.start(func(ctx context.Context) error { return p.Post(ctx, []string{"f"}) })
		h.until("sent", sent(p))
		if err := end(); err == nil {
			t.Error("all is well, it says")
		}
	})
	t.Run("broker", func(t *testing.T) {
		h := newHouse(t)
		h.write("base/f", "x")
		p := h.poster(config.Post)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		p.host.Stdin = r
		end := h.start(func(ctx context.Context) error { return p.Post(ctx, []string{"-"}) })
		fmt.Fprintln(w, "f")
		h.until("the first is confirmed", func() bool { return p.Counters.Announced.Load() == 1 && len(p.owed.paths()) == 0 })
		gate, err := os.OpenFile(h.db+".d/gate", os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer gate.Close()
		if err := unix.Flock(int(gate.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(w, "f")
		h.until("sent", sent(p))
		w.Close() // nothing but the broker is waited for from now on
		if err := end(); err == nil {
			t.Error("all is well, it says")
		}
	})
	t.Run("file", func(t *testing.T) {
		h := newHouse(t)
		path := h.write("base/f", "")
		if err := os.Truncate(path, 1<<40); err != nil {
			t.Fatal(err)
		}
		p := h.poster(config.Post)
		end := h.start(func(ctx context.Context) error { return p.Post(ctx, []string{"f"}) })
		h.until("it is read", func() bool { return isOpen(path) })
		if err := end(); !errors.Is(err, context.Canceled) && err != nil {
			t.Error(err)
		}
		if n := p.Counters.Announced.Load() + p.Counters.Failed.Load(); n != 0 {
			t.Errorf("%d announced or failed", n)
		}
	})
	t.Run("names", func(t *testing.T) {
		h := newHouse(t)
		h.write("base/f", "x")
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		p := h.poster(config.Post)
		p.host.Stdin = r
		end := h.start(func(ctx context.Context) error { return p.Post(ctx, []string{"-"}) })
		fmt.Fprintln(w, "f")
		h.until("the first is announced", func() bool { return p.Counters.Announced.Load() == 1 })
		if err := end(); !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}

// isOpen reports whether this process holds the file open.
func isOpen(path string) bool {
	fds, _ := filepath.Glob("/proc/self/fd/*")
	return slices.ContainsFunc(fds, func(fd string) bool {
		to, err := os.Readlink(fd)
		return err == nil && to == path
	})
}

// A file is replaced whole or not at all, and nothing lies about afterwards.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, data := range []string{"first", "second, longer", "3"} {
		if err := writeFile(path, []byte(data)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != data {
			t.Errorf("holds %q, %v", b, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(filepath.Join(dir, "d"), nil); err == nil {
		t.Error("a directory was replaced")
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 2 {
		t.Errorf("left %v, %v", names, err)
	}
}
