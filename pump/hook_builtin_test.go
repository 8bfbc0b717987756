package pump

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/config"
	"srpump/pump/retry"
)

// conf writes options nothing but a hook knows, for -config.
func (h *house) conf(lines ...string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, "own.conf")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// What is to wait is acknowledged and on disk, holds up nothing else, and goes on when its time has
// come; neither is a failure.
func TestDelayHoldsNothingUp(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/new": "1", "/old": "2"})
	f, stop := h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/in", "-retry", "off",
		"-on_message", "msg_delay", "-prefetch", "1", "-config", h.conf("msg_delay 2"))
	young, old := announced(web.URL+"/", "new", "1", 1), announced(web.URL+"/", "old", "2", 1)
	young.Time = post.At(time.Now())
	h.post("xin", young, old)
	h.until("the old one", func() bool { return h.content("in/old") == "2" })
	h.until("the young one", func() bool { return h.content("in/new") == "1" })
	if since := time.Since(young.Time.Time()); since < 2*time.Second {
		t.Errorf("fetched at the age of %s", since)
	}
	stop()
	if n := f.Counters.Retried.Load() + f.Counters.GivenUp.Load(); n != 0 {
		t.Errorf("%d counted as failures", n)
	}
}

// A stop between the two loses nothing.
func TestDelayOutlastsAStop(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/f": "1"})
	args := []string{"-exchange", "xin", "-directory", h.dir + "/in", "-on_message", "msg_delay"}
	f, stop := h.run(config.Subscribe, append(args, "-config", h.conf("msg_delay 1h"))...)
	a := announced(web.URL+"/", "f", "1", 1)
	a.Time = post.At(time.Now())
	h.post("xin", a)
	h.until("it waits", func() bool {
		n, _ := f.jobs.len()
		return f.Counters.Received.Load() == 1 && n == 0 && f.retries.Len() == 1
	})
	stop()
	h.run(config.Subscribe, append(args, "-config", h.conf("msg_delay 0"))...)
	h.until("the file", func() bool { return h.content("in/f") == "1" })
}

// Above its threshold a file is fetched by the program and verified, below it by what is built in.
func TestAccelAboveThreshold(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/small": "1", "/large": "not this"})
	large := strings.Repeat("x", 2000)
	get := h.script("get", `echo "$1" >>`+h.dir+`/by; head -c 2000 /dev/zero | tr '\0' x >"$2"`)
	f, _ := h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/in", "-plugin", "accel_wget",
		"-config", h.conf("accel_wget_threshold 1k", "accel_wget_command "+get+" %s %d"))
	h.post("xin", announced(web.URL+"/", "small", "1", 1), announced(web.URL+"/", "large", large, 1))
	h.until("both", func() bool { return f.Counters.Fetched.Load() == 2 })
	if h.content("in/small") != "1" || h.content("in/large") != large || h.content("by") != web.URL+"/large\n" {
		t.Errorf("by the program: %q", h.content("by"))
	}
}

// An infected file never has its name, and is not announced.
func TestScanKeepsAside(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/good": "1", "/bad": "EICAR"})
	got := h.capture("xcopy")
	scan := h.script("scan", `! grep -q EICAR "$1"`)
	f, stop := h.run(config.Sarra, "-exchange", "xin", "-post_exchange", "xcopy", "-post_base_dir", h.dir+"/pub", "-directory", h.dir+"/pub",
		"-on_part", "part_clamav_scan", "-config", h.conf("part_clamav_scan_command "+scan))
	h.post("xin", announced(web.URL+"/", "bad", "EICAR", 1), announced(web.URL+"/", "good", "1", 1))
	h.until("both", func() bool { return f.Counters.Rejected.Load() == 1 && len(got()) == 1 })
	stop()
	left, _ := filepath.Glob(h.dir + "/pub/*")
	kept, _ := filepath.Glob(filepath.Join(f.state, "infected", "*"))
	if len(left) != 1 || len(kept) != 2 {
		t.Errorf("in place %q, kept %q", left, kept)
	}
	if data, _ := os.ReadFile(kept[0]); string(data) != "EICAR" {
		t.Errorf("kept %q", data)
	}
}

// Placing, counting and rewriting in a flow, with what is announced of it.
func TestBuiltinsInAFlow(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/d/CA:x:y": "1"})
	got := h.capture("xcopy")
	a := announced(web.URL+"/", "d/CA:x:y", "1", 1)
	_, stop := h.run(config.Sarra, "-exchange", "xin", "-post_exchange", "xcopy", "-post_base_dir", h.dir+"/pub", "-directory", h.dir+"/pub",
		"-on_message", "msg_rename_whatfn", "-on_message", "msg_hour_tree.py", "-on_message", "msg_total",
		"-on_post", "post_override", "-config", h.conf("post_override to_clusters Z"))
	h.post("xin", a)
	h.until("the copy", func() bool { return len(got()) == 1 })
	stop()
	want := "d/" + a.Time.Time().Format("15") + "/CA"
	if c := got()[0]; c.Path != want || c.Header("to_clusters") != "Z" || h.content("pub/"+want) != "1" {
		t.Errorf("announced %+v", c)
	}
	if !strings.Contains(h.log.String(), "msg=total hook=msg_total count=1") {
		t.Error("not counted")
	}
}

// A program is asked for no file of this host that is not below base_dir (sr_hooks(7), do_download).
func TestHookFetchesBelowBaseDir(t *testing.T) {
	h := newHouse(t)
	for _, dir := range []string{"pub", "private"} {
		if err := os.Mkdir(filepath.Join(h.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.dir, dir, "f"), []byte(dir), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(h.dir, "private"), filepath.Join(h.dir, "pub/out")); err != nil {
		t.Fatal(err)
	}
	// while it is being fetched, the file becomes a link to another
	get := h.script("get", "ln -sf ../private/f "+h.dir+"/pub/f\nexec cp \"${1#file://}\" \"$2\"")
	f, _ := h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/in", "-mirror", "on", "-base_dir", h.dir+"/pub", "-do_download", "file cmd:"+get+" ${url} ${file}")
	var all []*post.Announcement
	for _, dir := range []string{"private", "pub", "pub/out"} {
		a := announced(post.LocalBase, "f", dir, 1)
		a.Path = filepath.Join(h.dir, dir, "f")
		all = append(all, a)
	}
	h.post("xin", all...)
	h.until("both are over", func() bool { return f.Counters.GivenUp.Load()+f.Counters.Fetched.Load() == 3 })
	if n := f.Counters.GivenUp.Load(); n != 2 {
		t.Errorf("%d given up", n)
	}
	if c := h.content("in" + h.dir + "/pub/f"); c != "pub" {
		t.Errorf("fetched is %q", c)
	}
}

// The hook msg_log: a line in the words of v02, which a name of control characters cannot forge.
func TestMsgLog(t *testing.T) {
	h := newHouse(t)
	f, err := NewFlow(h.config(config.Subscribe, "-on_message", "msg_log.py", "-directory", h.dir+"/out"), h.host())
	if err != nil || !f.tellsReceived {
		t.Fatalf("msg_log is not run: %v", err)
	}
	a := announced("http://h/", "x\n2026-11-21 [INFO] \x1b[2J\u2028\xff", "x", 1700000000)
	line := receivedLine{a}.OldLine()
	if !strings.HasPrefix(line, "msg_log received: 20231114221320.00 http://h/ x") || strings.ContainsAny(line, "\n\x1b\u2028") {
		t.Errorf("%q", line)
	}
	m, told, err := retry.FromLog(line)
	if err != nil || !told {
		t.Fatal(told, err)
	}
	if back, err := post.DecodeV02(m.Topic, m.Headers, m.Body); err != nil || back.Path != a.Path {
		t.Errorf("%q read as %+v: %v", line, back, err)
	}
}
