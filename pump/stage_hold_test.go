package pump

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"srpump/post"
)

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o644) }

// A filter may hold more than the broker gives out at a time: what it holds is on disk, and its announcements
// acknowledged; after a stop they are given again, all at once.
func TestStageHoldsMore(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xmade")
	f, stop := h.staged(300, 400, "-prefetch", "20")
	files := make(map[string]string)
	for i := range 299 {
		files[fmt.Sprintf("f%03d", i)] = fmt.Sprint("content ", i)
	}
	h.announceFiles(files)
	h.until("all are in its hands", func() bool { return f.Count()["stage_held"] == 299 })
	if n := f.retries.Len(); n < 270 {
		t.Errorf("only %d are on disk", n)
	}
	stop() // a filter answers for what it holds at the end of its input
	if len(got()) > 1 {
		t.Errorf("%d announced", len(got()))
	}
	f, _ = h.staged(300, 400, "-prefetch", "20")
	h.announceFiles(map[string]string{"last": "last"})
	h.until("all are done", func() bool {
		if f.Count()["stage_held"] > 0 && f.Count()["stage_waiting"] == 0 && f.pool.idle() {
			f.stage.filter.Flush()
		}
		n, _ := f.jobs.len()
		return f.Counters.Received.Load() >= 1 && n == 0 && f.retries.Len() == 0
	})
}

// One output may end more inputs than may be unconfirmed, and each of them is announced as well.
func TestStageKeepsManyOfOne(t *testing.T) {
	h := newHouse(t)
	dir, many := h.dir+"/from", publishWindow+200
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var all []*post.Announcement
	for i := range many {
		name := fmt.Sprintf("f%04d", i)
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		a := announced(post.LocalBase, name, "x", 1700000000)
		a.Path = filepath.Join(dir, name)
		all = append(all, a)
	}
	f, _ := h.staged(many, many, "-stage_keep", "on", "-notify_only", "on", "-prefetch", fmt.Sprint(many))
	h.post("xpublic", all...)
	h.until("the output and all it is made of are announced", func() bool { return f.Counters.Announced.Load() == int64(many)+1 })
}

// What a slow filter has no room for is neither lost nor kept in memory once it is on disk.
func TestStageSlow(t *testing.T) {
	h := newHouse(t)
	f, _ := h.staged(100, 1, "-prefetch", "50") // it never answers
	files := make(map[string]string)
	for i := range 400 {
		files[fmt.Sprintf("f%03d", i)] = "content"
	}
	h.announceFiles(files)
	for f.Counters.Received.Load() < 400 {
		h.until("all the broker gives out waits", func() bool {
			n := f.Count()
			return n["received"] == 400 || n["stage_waiting"] >= 49
		})
		// what is due again may be with the workers when the rest is moved to disk
		h.until("no more are in memory", func() bool {
			n, due := f.jobs.len()
			return n-due <= 51+f.plan.workers
		})
		f.spill(time.Now().Add(time.Second))
	}
	h.until("all are on disk", func() bool {
		f.spill(time.Now().Add(time.Second))
		return f.retries.Len() == 400
	})
	if n, _ := f.jobs.len(); n > 50+f.dueAtOnce() {
		t.Errorf("%d in memory", n)
	}
}

// Two announcements of one place are given one after the other.
func TestStageOrder(t *testing.T) {
	h := newHouse(t)
	f, _ := h.staged(2, 8) // it answers when it has two
	web := h.web(map[string]string{"/x": "first", "/y": "other"})
	h.post("xpublic", announced(web.URL+"/", "x", "first", 1700000000), announced(web.URL+"/", "x", "first", 1700000001))
	h.until("one is given", func() bool { return f.Count()["stage_held"] == 1 && f.Counters.Received.Load() == 2 })
	if n := f.Counters.Staged.Load(); n != 1 {
		t.Errorf("%d given at once", n)
	}
	h.post("xpublic", announced(web.URL+"/", "y", "other", 1700000000))
	h.until("the second follows", func() bool { return f.Counters.Staged.Load() == 3 })
}

// Outputs are below the directory of outputs.
func TestStageOutputWithin(t *testing.T) {
	s := &stage{dir: "/data/out"}
	for name, want := range map[string]string{"a": "a", "/data/out/a/b": "a/b", "a/../b": "b", "/data/out/../x": "", "/data/outer": "", "..": "", "/data/out": "", "": "", "../out/a": ""} {
		got, err := s.within(name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v", name, got, err)
		}
	}
}
