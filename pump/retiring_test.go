package pump

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/config"
	"srpump/pump/keep"
)

// keeping runs a flow with the option keep over the given files, and waits until they are here.
func (h *house) keeping(files map[string]string, args ...string) *Flow {
	h.t.Helper()
	web := h.web(files)
	f, _ := h.run(config.Subscribe, append([]string{"-directory", h.dir + "/out", "-mirror", "on", "-keep", "7d"}, args...)...)
	for name, content := range files {
		h.post("xpublic", announced(web.URL+"/", strings.TrimPrefix(name, "/"), content, 1_700_000_000))
	}
	h.idle(f, int64(len(files)))
	return f
}

// idle waits until n files are here and nobody works on any.
func (h *house) idle(f *Flow, n int64) {
	h.t.Helper()
	h.until("all are here", func() bool {
		inHand, _ := f.jobs.len()
		return f.Counters.Fetched.Load()+f.Counters.Unchanged.Load() == n && inHand == 0
	})
}

// later retires as if the flow had run for d since the files came.
func (h *house) later(f *Flow, d time.Duration) {
	f.retire(context.Background(), keep.OpenClock(h.t.TempDir()), time.Now().Add(d), 0) // a clock that believes
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// sr_options(5), keep: what the flow installed goes at its age, with directories left empty;
// what others put there or changed stays.
func TestKeep(t *testing.T) {
	h := newHouse(t)
	h.write("out/d/theirs", "not ours")
	f := h.keeping(map[string]string{"/d/ours": "x", "/d/changed": "x", "/d/replaced": "x", "/e/f/alone": "x", "/top": "x"})
	out := func(name string) string { return filepath.Join(h.dir, "out", name) }
	h.write("out/d/changed", "longer")
	same, err := os.Stat(out("d/replaced"))
	if err != nil {
		t.Fatal(err)
	}
	h.write("out/d/replaced", "y")
	if err := os.Chtimes(out("d/replaced"), same.ModTime().Add(time.Second), same.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	h.later(f, 7*24*time.Hour-time.Minute)
	if n := f.Counters.Retired.Load(); n != 0 || !exists(out("top")) {
		t.Errorf("%d retired before their time", n)
	}
	h.later(f, 7*24*time.Hour+time.Minute)
	for name, want := range map[string]bool{"d/theirs": true, "d/changed": true, "d/replaced": true, "d/ours": false, "e/f/alone": false, "e": false, "top": false, "": true} {
		if exists(out(name)) != want {
			t.Errorf("%q: there %v", name, !want)
		}
	}
	if n := f.Counters.Retired.Load(); n != 3 || strings.Count(h.log.String(), "msg=retired") != 3 {
		t.Errorf("%d retired", n)
	}
}

// What nothing can be written down of, as on a full disk, is retired all the same.
func TestKeepOnFullDisk(t *testing.T) {
	h := newHouse(t)
	f := h.keeping(map[string]string{"/a": "x"})
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "clock"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.retire(context.Background(), keep.OpenClock(dir), time.Now().Add(8*24*time.Hour), 0)
	if exists(h.dir+"/out/a") || !strings.Contains(h.log.String(), "cannot keep the time") {
		t.Errorf("not retired, or not told: %s", h.log.String())
	}
}

// A file whose path is being worked on, or that came once more, has its time again.
func TestKeepBusy(t *testing.T) {
	h := newHouse(t)
	f := h.keeping(map[string]string{"/d/busy": "x"})
	path := filepath.Join(h.dir, "out/d/busy")
	mine := &turn{run: func() {}}
	f.order.enter(mine, path)
	h.later(f, 8*24*time.Hour)
	if !exists(path) {
		t.Error("removed under somebody's hands")
	}
	f.order.leave(mine)
	h.later(f, 14*24*time.Hour)
	if !exists(path) {
		t.Error("removed before its time came again")
	}
	h.later(f, 16*24*time.Hour)
	if exists(path) || exists(filepath.Dir(path)) {
		t.Error("not removed when its time had come again")
	}
}

// What is replaced by a newer announcement is kept for the time of the newer one.
func TestKeepNewer(t *testing.T) {
	h := newHouse(t)
	f := h.keeping(map[string]string{"/a": "x"}, "-overwrite", "on")
	web := h.web(map[string]string{"/a": "x"})
	a := announced(web.URL+"/", "a", "x", 1_700_000_000)
	a.Time = post.At(a.Time.Time().Add(time.Second))
	h.post("xpublic", a)
	h.idle(f, 2)
	h.later(f, 7*24*time.Hour+time.Minute)
	if exists(filepath.Join(h.dir, "out/a")) || f.Counters.Retired.Load() != 1 {
		t.Errorf("%d retired", f.Counters.Retired.Load())
	}
}

// The source itself, announced as a local file into its own directory, is nobody's copy.
func TestKeepSource(t *testing.T) {
	h := newHouse(t)
	path := h.write("out/mine", "x")
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out", "-keep", "1h", "-overwrite", "on")
	a := announced("file:", path, "x", 1_700_000_000)
	a.Headers["rename"] = "/mine"
	h.post("xpublic", a)
	h.idle(f, 1)
	h.later(f, 48*time.Hour)
	if !exists(path) {
		t.Error("the source was removed")
	}
}

// Nothing is removed through a link that leaves the directory.
func TestKeepHostile(t *testing.T) {
	h := newHouse(t)
	f := h.keeping(map[string]string{"/d/a": "x"})
	info, err := os.Stat(filepath.Join(h.dir, "out/d/a"))
	if err != nil {
		t.Fatal(err)
	}
	outside := h.write("outside/a", "x")
	if err := os.Chtimes(outside, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(h.dir, "out/d")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(h.dir+"/outside", filepath.Join(h.dir, "out/d")); err != nil {
		t.Fatal(err)
	}
	h.later(f, 8*24*time.Hour)
	if !exists(outside) {
		t.Error("removed outside of the directory")
	}
}

// A clock that leaps a year removes nothing at once.
func TestKeepLeap(t *testing.T) {
	h := newHouse(t)
	f := h.keeping(map[string]string{"/a": "x"})
	clock := keep.OpenClock(f.keepDir())
	f.retire(context.Background(), clock, time.Now(), 0)
	f.retire(context.Background(), clock, time.Now().AddDate(1, 0, 0), 5*time.Minute)
	f.retire(context.Background(), clock, time.Now().AddDate(1, 0, 0), 5*time.Minute)
	if !exists(filepath.Join(h.dir, "out/a")) || !strings.Contains(h.log.String(), "the clock leapt") {
		t.Error("removed for a wrong clock, or nothing said")
	}
}
