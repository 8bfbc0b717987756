package pump

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/config"
)

// posted runs a poster over paths and returns what it announced on xout.
func (h *house) poster(p config.Preset, args ...string) *Poster {
	h.t.Helper()
	out, err := NewPoster(h.config(p, append([]string{"-post_exchange", "xout", "-post_base_url", "http://h.example/", "-post_base_dir", h.dir + "/base"}, args...)...), h.host())
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

func (h *house) write(path, content string) string {
	h.t.Helper()
	full := filepath.Join(h.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		h.t.Fatal(err)
	}
	return full
}

// sr_post(1): files, links and what is missing are announced; the rest is said and counted.
func TestPost(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	h.write("base/sub/a", "aaa")
	h.write("base/sub/b", strings.Repeat("B", 250))
	if err := os.Symlink("a", filepath.Join(h.dir, "base/sub/l")); err != nil {
		t.Fatal(err)
	}
	p := h.poster(config.Post, "-blocksize", "100", "-reject", ".*/hidden")
	h.write("base/sub/hidden", "x")
	if err := p.Post(context.Background(), []string{"sub", "gone"}); err != nil {
		t.Fatal(err)
	}
	h.until("all are here", func() bool { return len(got()) == 6 })
	seen := map[string]string{}
	for _, a := range got() {
		seen[a.Path+" "+a.Block.String()] = a.Sum.Method
	}
	want := map[string]string{"sub/a 1,3,1,0,0": "d", "sub/b i,100,3,50,0": "d", "sub/b i,100,3,50,1": "d", "sub/b i,100,3,50,2": "d", "sub/l \x00,0,0,0,0": "L", "gone \x00,0,0,0,0": "R"}
	if fmt.Sprint(seen) != fmt.Sprint(want) || p.Counters.Rejected.Load() != 1 {
		t.Errorf("announced %q, rejected %d", seen, p.Counters.Rejected.Load())
	}
}

// With a cache only what changed is announced again, and what changed back is.
func TestPostOnce(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	for i, content := range []string{"a", "a", "b", "b", "a"} {
		h.write("base/x", content)
		if err := h.poster(config.Post, "-suppress_duplicates", "1h").Post(context.Background(), []string{"x"}); err != nil {
			t.Fatal(i, err)
		}
	}
	h.until("three are here", func() bool { return len(got()) == 3 })
}

// sr_watch(1): what is there, what comes, what goes; what was noticed and not announced when
// it was stopped is announced at the next start.
func TestWatch(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	h.write("base/there", "1")
	run := func(args ...string) (p *Poster, stop func()) {
		p = h.poster(config.Watch, args...)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- p.Watch(ctx, []string{h.dir + "/base"}) }()
		return p, func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	has := func(path, method string) func() bool {
		return func() bool {
			for _, a := range got() {
				if a.Path == path && a.Sum.Method == method {
					return true
				}
			}
			return false
		}
	}
	_, stop := run()
	h.until("what is there", has("there", "d"))
	h.write("base/new/dir/file", "2")
	h.until("what comes", has("new/dir/file", "d"))
	if err := os.Remove(filepath.Join(h.dir, "base/there")); err != nil {
		t.Fatal(err)
	}
	h.until("what goes", has("there", "R"))
	stop()
	p := h.poster(config.Watch)
	if err := p.remember([]string{h.write("base/late", "3"), h.dir + "/base/went"}); err != nil {
		t.Fatal(err)
	}
	_, stop = run("-post_on_start", "off")
	h.until("what was left", func() bool { return has("late", "d")() && has("went", "R")() })
	stop()
	if names, err := p.remembered(); err != nil || len(names) > 0 {
		t.Errorf("still remembered: %q %v", names, err)
	}
}

// sr_options(5), realpath_post: what is named through a link is announced by its own path.
func TestRealpathPost(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	h.write("base/real/a", "aaa")
	if err := os.Symlink("real", filepath.Join(h.dir, "base/link")); err != nil {
		t.Fatal(err)
	}
	p := h.poster(config.Post, "-realpath_post")
	if err := p.Post(t.Context(), []string{"link", "link/a", "link/gone"}); err != nil {
		t.Fatal(err)
	}
	h.until("all are here", func() bool { return len(got()) == 3 })
	seen := map[string]int{}
	for _, a := range got() {
		seen[a.Path]++
	}
	if seen["real/a"] != 2 || seen["link/gone"] != 1 {
		t.Errorf("%v", seen)
	}
}

// sr_options(5), realpath_filter: the rules see where a link leads, the announcement does not. What is
// gone has the path its directory leads to.
func TestRealpathFilter(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	h.write("base/secret/a", "aaa")
	h.write("base/open/b", "b")
	for link, to := range map[string]string{"see": "open", "hide": "secret"} {
		if err := os.Symlink(to, filepath.Join(h.dir, "base", link)); err != nil {
			t.Fatal(err)
		}
	}
	p := h.poster(config.Post, "-realpath_filter", "-reject", ".*/secret/.*")
	if err := p.Post(t.Context(), []string{"hide/a", "hide/gone", "see/b"}); err != nil {
		t.Fatal(err)
	}
	h.until("one is here", func() bool { return len(got()) == 1 })
	if path := got()[0].Path; path != "see/b" || p.Counters.Rejected.Load() != 2 {
		t.Errorf("announced %q, and rejected %d", path, p.Counters.Rejected.Load())
	}
}

// A sum that an application gives is announced as it is, by the option sum or, the v02 way, as a header. One
// without a value is refused, and a header cannot lie about bytes.
func TestSumGiven(t *testing.T) {
	h := newHouse(t)
	h.write("base/x", "xxx")
	got := h.capture("xout")
	for i, args := range [][]string{{"-sum", "a,65537"}, {"-header", "sum=a,65537"}} {
		if err := h.poster(config.Post, args...).Post(t.Context(), []string{"x"}); err != nil {
			t.Fatal(err)
		}
		h.until("announced", func() bool { return len(got()) > i })
		if a := got()[i]; a.Sum.String() != "a,65537" || a.Size() != 3 {
			t.Errorf("%v: %+v", args, a)
		}
	}
	for _, args := range [][]string{{"-sum", "a"}, {"-sum", "a,"}, {"-sum", "a,x y"}, {"-header", "sum=d,00"}, {"-sum", "x,1"}} {
		if p, err := NewPoster(h.config(config.Post, append(args, "-post_broker", "sqlite://"+h.db, "-post_base_url", "http://h/")...), h.host()); err == nil || !strings.Contains(err.Error(), "cannot use sum") {
			t.Errorf("%v: %v %v", args, p, err)
		}
	}
}

// sr_options(5), follow_symlinks: what a link leads to is announced by its own path, unless the rules turn it away
// or it is outside of post_base_dir, which may itself be a link; directories behind links are walked, not in circles.
func TestFollowSymlinks(t *testing.T) {
	h := newHouse(t)
	h.write("real/sub/a", "aaa")
	h.write("real/hide/b", "b")
	secret := h.write("outside/c", "c")
	for link, to := range map[string]string{"base": "real", "real/in": "sub/a", "real/hidden": "hide/b", "real/out": secret, "real/dangling": "nowhere",
		"real/self": "self", "real/sub/up": "..", "real/dir": "../outside"} {
		if err := os.Symlink(to, filepath.Join(h.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for follow, want := range map[string]string{
		"off": "dangling dir hidden in out self sub/a sub/up",
		"on":  "dangling dir/c hidden in out self sub/a sub/a",
	} {
		t.Run(follow, func(t *testing.T) {
			exchange := "x" + follow
			got := h.capture(exchange)
			p := h.poster(config.Post, "-post_exchange", exchange, "-follow_symlinks", follow, "-reject", ".*/hide/.*")
			if err := p.Post(t.Context(), []string{h.dir + "/base/"}); err != nil {
				t.Fatal(err)
			}
			names := func() string {
				var out []string
				for _, a := range got() {
					out = append(out, a.Path)
				}
				slices.Sort(out)
				return strings.Join(out, " ")
			}
			h.until(want, func() bool { return names() == want })
		})
	}
}

// sr_options(5), inflight: sr_watch leaves a file alone until it is as old as that.
func TestInflightIsAnAge(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	h.write("base/here/x", "")
	p := h.poster(config.Watch, "-sleep", "0.1", "-inflight", "1h")
	end := h.start(func(ctx context.Context) error { return p.Watch(ctx, []string{h.dir + "/base"}) })
	h.until("watching", func() bool { return strings.Contains(h.log.String(), "msg=watching") })
	h.write("base/young", "y")
	old, then := h.write("base/there/old", "o"), time.Now().Add(-2*time.Hour)
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	h.until("the old one is announced", func() bool {
		return slices.ContainsFunc(got(), func(a *post.Announcement) bool { return a.Path == "there/old" })
	})
	if err := end(); err != nil {
		t.Fatal(err)
	}
	for _, a := range got() {
		if a.Path == "young" {
			t.Error("a young file was announced")
		}
	}
}
