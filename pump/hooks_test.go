package pump

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"srpump/post"
	"srpump/pump/config"
)

// script writes a program and returns its path.
func (h *house) script(name, text string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// on_message: headers change, another place is chosen, and what is refused goes nowhere.
func TestHookOnMessage(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/a/keep": "1", "/a/drop": "2", "/a/move": "3"})
	got := h.capture("xcopy")
	choose := h.script("choose", `while read -r line; do case $line in
*a/drop*) echo false;;
*a/move*) echo "$line" | sed 's/"new_file":"move"/"new_file":"moved"/; s,"new_dir":"\([^"]*\)","new_dir":"\1/else",';;
*) echo "$line" | sed 's/"headers":{/"headers":{"seen":"yes",/';;
esac; done`)
	f, stop := h.run(config.Sarra, "-exchange", "xin", "-post_exchange", "xcopy", "-post_base_dir", h.dir+"/pub", "-directory", h.dir+"/pub", "-on_message", "exec:"+choose)
	h.post("xin", announced(web.URL+"/", "a/keep", "1", 1), announced(web.URL+"/", "a/drop", "2", 1), announced(web.URL+"/", "a/move", "3", 1))
	h.until("two copies", func() bool { return len(got()) == 2 && f.Counters.Rejected.Load() == 1 })
	stop()
	if c := h.content("pub/a/keep"); c != "1" {
		t.Errorf("keep is %q", c)
	}
	if c := h.content("pub/a/else/moved"); c != "3" {
		t.Errorf("moved is %q", c)
	}
	for _, a := range got() {
		if strings.HasSuffix(a.Path, "keep") != (a.Header("seen") == "yes") {
			t.Errorf("announced %+v", a)
		}
	}
	if !strings.Contains(h.log.String(), "dropped by a hook") {
		t.Error("nothing is said of what was dropped")
	}
}

// A hook cannot place a file outside of the directory, whatever it answers.
func TestHookPlacesNothingOutside(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/f": "1"})
	for _, change := range []string{`"new_dir":"/etc"`, `"new_dir":"../.."`, `"new_file":"../x"`, `"relpath":"../../x"`} {
		f, stop := h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/in", "-retry", "off", "-on_message", "exec:sed -u 's|.*|{"+change+"}|'")
		h.post("xin", announced(web.URL+"/", "f", "1", 1))
		h.until("given up", func() bool { return f.Counters.GivenUp.Load() == 1 })
		stop()
		if f.Counters.Fetched.Load() != 0 {
			t.Errorf("%s: fetched", change)
		}
	}
}

// on_data changes the bytes; their sum is announced. on_file then sees the file in place, and refuses
// to have one announced.
func TestHookOnDataAndOnFile(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/a": "lower", "/b": "other"})
	got := h.capture("xcopy")
	seen := h.script("seen", `cat "$1" >>`+h.dir+`/shown; case $SR_RELPATH in b) exit 1;; esac`)
	f, stop := h.run(config.Sarra, "-exchange", "xin", "-post_exchange", "xcopy", "-post_base_dir", h.dir+"/pub", "-directory", h.dir+"/pub",
		"-on_data", "cmd:sed -i y/lower/LOWER/ ${file}", "-on_file", "cmd:"+seen+" ${file}")
	h.post("xin", announced(web.URL+"/", "a", "lower", 1))
	h.until("the copy", func() bool { return len(got()) == 1 })
	h.post("xin", announced(web.URL+"/", "b", "other", 1))
	h.until("refused", func() bool { return f.Counters.Rejected.Load() == 1 })
	stop()
	if want := announced("", "a", "LOWER", 1).Sum; got()[0].Sum != want || h.content("pub/a") != "LOWER" {
		t.Errorf("%v: %q", got()[0].Sum, h.content("pub/a"))
	}
	if s := h.content("shown"); s != "LOWEROthER" && s != "LOWEROthER\n" {
		t.Errorf("on_file saw %q", s)
	}
	if len(got()) != 1 || h.content("pub/b") != "OthER" {
		t.Errorf("%d announced, b is %q", len(got()), h.content("pub/b"))
	}
	if left, _ := filepath.Glob(h.dir + "/pub/.*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A hook that fails is asked again later; meanwhile nothing is announced, and the file is fetched once.
func TestHookOnFileIsAskedAgain(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/a": "1"})
	got := h.capture("xcopy")
	second := h.script("second", `test -e `+h.dir+`/asked || { touch `+h.dir+`/asked; exit 3; }`)
	f, _ := h.run(config.Sarra, "-exchange", "xin", "-post_exchange", "xcopy", "-post_base_dir", h.dir+"/pub", "-directory", h.dir+"/pub", "-on_file", "cmd:"+second)
	h.post("xin", announced(web.URL+"/", "a", "1", 1))
	h.until("the retry", func() bool { return f.Counters.Retried.Load() == 1 })
	if len(got()) != 0 {
		t.Error("announced without its hook")
	}
	h.until("the copy", func() bool { return len(got()) == 1 })
	if n := f.Counters.Fetched.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
}

// What a program fetches is verified as any other file; a name cannot become an option or a command.
func TestHookDoDownload(t *testing.T) {
	h := newHouse(t)
	src := filepath.Join(h.dir, "src")
	get := h.script("get", `test $# = 2 && cp -- "`+src+`/${1##*/}" "$2"`)
	if err := os.MkdirAll(src, 0o755); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, name := range []string{"-rf", "; rm x", `q"uo'te`, "$(id)"} {
		names = append(names, name)
		if err := os.WriteFile(filepath.Join(src, fmt.Sprint(i)), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, _ := h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/in", "-do_download", "odd cmd:"+get+" ${url} ${file}")
	for i, name := range names {
		a := announced("odd://host/", fmt.Sprint(i), name, 1)
		a.Headers["rename"] = "/in/" + name
		h.post("xin", a)
	}
	h.until("all fetched", func() bool { return f.Counters.Fetched.Load() == int64(len(names)) })
	for _, name := range names {
		if c := h.content("in/in/" + name); c != name && h.content("in/"+name) != name {
			t.Errorf("%q is %q", name, c)
		}
	}
}

// on_post, destfn_script, on_start and on_stop.
func TestHookOnPostOfFlowAndPoster(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	note := h.script("note", `echo "$SR_EVENT" >>`+h.dir+`/notes`)
	_, stop := h.run(config.Winnow, "-exchange", "xin", "-post_exchange", "xout", "-on_start", "cmd:"+note, "-on_stop", "cmd:"+note,
		"-on_post", `exec:sed -u 's/"headers":{/&"by":"hook",/'`)
	h.post("xin", announced("http://h/", "f", "1", 1))
	h.until("passed on", func() bool { return len(got()) == 1 })
	stop()
	if by := got()[0].Header("by"); by != "hook" || h.content("notes") != "on_start\non_stop\n" {
		t.Errorf("by %q, %q", by, h.content("notes"))
	}
	if err := os.WriteFile(filepath.Join(h.dir, "file"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := NewPoster(h.config(config.Post, "-post_exchange", "xout", "-on_post", `exec:sed -u 's/"headers":{/&"by":"poster",/'`), h.host())
	if err == nil {
		err = p.Post(context.Background(), []string{filepath.Join(h.dir, "file")})
	}
	if err != nil {
		t.Fatal(err)
	}
	h.until("posted", func() bool { return len(got()) == 2 })
	if by := got()[1].Header("by"); by != "poster" {
		t.Errorf("by %q: %+v", by, got()[1])
	}
}

// A hook that refuses the start, or cannot be run at all, is an error of the start.
func TestHookRefusesTheStart(t *testing.T) {
	h := newHouse(t)
	f, err := NewFlow(h.config(config.Winnow, "-exchange", "xin", "-post_exchange", "xout", "-on_start", "cmd:false"), h.host())
	if err == nil {
		err = f.Run(context.Background())
	}
	if err == nil || !strings.Contains(err.Error(), "on_start") {
		t.Errorf("error is %v", err)
	}
	c := h.config(config.Winnow, "-exchange", "xin", "-post_exchange", "xout", "-on_message", "exec:no-such-program", "-on_post", "cmd:'open")
	if _, err := NewFlow(c, h.host()); err == nil || !strings.Contains(err.Error(), "no-such-program") || !strings.Contains(err.Error(), "quote") {
		t.Errorf("error is %v", err)
	}
}

// Announcements of one path pass a slow hook in their order, and do not hold up others.
func TestHookKeepsTheOrderOfAPath(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	slow := h.script("slow", `case $SR_RELPATH in slow) test "$SR_HEADER_n" != 1 || until test -e `+h.dir+`/go; do sleep 0.01; done;; esac`)
	h.run(config.Shovel, "-exchange", "xin", "-post_exchange", "xout", "-on_message", "cmd:"+slow)
	var as []*post.Announcement
	for n := 1; n <= 3; n++ {
		a := announced("http://h/", "slow", "1", int64(n))
		a.Headers["n"] = fmt.Sprint(n)
		as = append(as, a)
	}
	h.post("xin", append(as, announced("http://h/", "quick", "1", 9))...)
	h.until("the quick one", func() bool { return len(got()) == 1 && got()[0].Path == "quick" })
	h.script("go", "")
	h.until("all", func() bool { return len(got()) == 4 })
	for i, a := range got()[1:] {
		if a.Header("n") != fmt.Sprint(i+1) {
			t.Errorf("at %d comes %s", i+1, a.Header("n"))
		}
	}
}

// What can be no argument of a program is given up at once, and said to be so.
func TestHookUnfit(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/f": "1"})
	f, _ := h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/in", "-on_message", "cmd:true ${header.odd}")
	a := announced(web.URL+"/", "f", "1", 1)
	a.SetHeader("odd", "a\x00b")
	h.post("xin", a)
	h.until("it is given up", func() bool { n, _ := f.jobs.len(); return f.Counters.GivenUp.Load() == 1 && n == 0 })
	if dead := h.deadLetters(f); f.retries.Len() != 0 || !strings.Contains(dead, "the system takes no such argument") {
		t.Errorf("%d wait, given up is %s", f.retries.Len(), dead)
	}
}
