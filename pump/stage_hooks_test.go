package pump

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/hook"
)

// The filter sees what on_message left, and on_post what the filter made: it may change the headers.
func TestStageHooks(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xmade")
	f, _ := h.staged(1, 8, "-on_message", `exec:sed -u 's/"headers":{/&"seen":"before",/'`, "-on_post", `exec:sed -u 's/"headers":{/&"shown":"after",/'`)
	h.announceFiles(map[string]string{"a": "headers", "b": "many 2"})
	h.atRest(f, 2, got)
	if len(got()) != 3 {
		t.Fatalf("%d announced", len(got()))
	}
	for _, a := range got() {
		if a.Header("shown") != "after" {
			t.Errorf("%+v", a)
		}
	}
	if said := h.content("out/a.made"); !strings.Contains(said, `"seen":"before"`) {
		t.Error(said)
	}
}

// What on_post refuses is not announced, and its inputs end; when the hook fails, the input is given again.
func TestStageOnPost(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xmade")
	choose := h.script("choose", `case $SR_FILE in */b.0) exit 1;; */c.made) test -e `+h.dir+`/asked || { touch `+h.dir+`/asked; exit 3; };; esac; test -e "$SR_FILE"`)
	f, _ := h.staged(1, 8, "-on_post", "cmd:"+choose)
	h.announceFiles(map[string]string{"a": "fine", "b": "many 2", "c": "again"})
	h.atRest(f, 4, got)
	made := make(map[string]int)
	for _, a := range got() {
		made[a.Path]++
	}
	if len(made) != 3 || made["a.made"] != 1 || made["b.1"] != 1 || made["c.made"] != 1 {
		t.Errorf("%v", made)
	}
	if n := f.Count(); n["rejected"] != 1 || n["made"] != 3 || n["retried"] != 1 || n["given_up"] != 0 {
		t.Errorf("%v", n)
	}
	if !strings.Contains(h.log.String(), "out/b.0") {
		t.Error("nothing is said of what was refused")
	}
}

// A hook that wants an output later has its input wait on disk; nothing failed, and no try is counted.
func TestStageOnPostLater(t *testing.T) {
	h := newHouse(t)
	f, _ := h.staged(2, 8) // it answers when it has two
	h.announceFiles(map[string]string{"a": "content"})
	h.until("it is in its hands", func() bool { return f.Count()["stage_held"] == 1 })
	for _, j := range f.jobs.delivered() {
		f.stage.answered(f.life, j, hook.Verdict{Err: fmt.Errorf("cannot run on_post: %w", &hook.LaterError{Wait: time.Hour})})
	}
	h.until("it waits", func() bool { n, _ := f.jobs.len(); return n == 0 && f.retries.Len() == 1 })
	if n := f.Count(); n["retried"] != 0 || n["given_up"] != 0 || f.retries.NextDue().Before(time.Now().Add(59*time.Minute)) {
		t.Errorf("%v", n)
	}
}

// Outputs are announced no faster than post_rate_limit lets them.
func TestStageOnPostSlow(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xmade")
	f, _ := h.staged(1, 8, "-on_post", "post_rate_limit", "-config", h.conf("post_rate_limit 20"))
	h.announceFiles(map[string]string{"a": "many 6"})
	h.atRest(f, 1, got)
	if n := f.Count(); n["made"] != 6 || n["retried"] != 0 {
		t.Errorf("%v", n)
	}
}

// notify_only: nothing is fetched. The filter reads a file of this host where it is, and has of another its
// URL, without a password.
func TestStageNotifyOnly(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xmade")
	f, _ := h.staged(1, 8, "-notify_only", "on", "-base_dir", h.dir+"/src")
	h.write("src/here", "content")
	h.write("secret", "secret")
	h.post("xpublic", announced("file:", filepath.Join(h.dir, "src/here"), "content", 1), announced("http://me:PASS@far/", "x", "y", 1),
		announced("file:", filepath.Join(h.dir, "secret"), "secret", 1))
	h.until("all are done", func() bool {
		all, _ := f.jobs.len()
		return f.Counters.Received.Load() == 3 && all == 0 && len(got()) == 1
	})
	if n := f.Count(); n["fetched"] != 0 || n["staged"] != 2 || n["given_up"] != 1 || n["dropped"] != 1 {
		t.Errorf("%v", n)
	}
	if a := got()[0]; !strings.HasSuffix(a.Path, "here.made") || a.Base != "http://made/" {
		t.Errorf("%+v", a)
	}
	if log := h.log.String(); strings.Contains(log, "PASS") || !strings.Contains(log, "far/x") {
		t.Error("the URL is not told, or too much of it")
	}
	if _, err := os.Stat(filepath.Join(h.dir, "in")); err == nil {
		t.Error("a directory of copies")
	}
}

// A removal is none of the filter's business, and no news either.
func TestStageRemoval(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xmade")
	f, _ := h.staged(1, 8)
	h.announceFiles(map[string]string{"a": "content"})
	h.atRest(f, 1, got)
	gone := announced("http://x/", "a", "", 1700000001)
	gone.Sum = post.OfRemoval("a")
	h.post("xpublic", gone)
	h.until("it is removed", func() bool { all, _ := f.jobs.len(); return f.Counters.Removed.Load() == 1 && all == 0 })
	if n := f.Count(); n["staged"] != 1 || len(got()) != 1 {
		t.Errorf("%v, %d announced", n, len(got()))
	}
}
