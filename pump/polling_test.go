package pump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"srpump/pump/config"
	"srpump/pump/poll"
	"srpump/pump/serve"
	"srpump/test/nginx"
	"srpump/test/vsftpd"
)

// poller polls with a poster of its own, as a command started anew does.
func (h *house) poller(args ...string) *Poster {
	h.t.Helper()
	p, err := NewPoster(h.config(config.Poll, append([]string{"-sleep", "0", "-post_exchange", "xout"}, args...)...), h.host())
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

// polled makes one pass and returns the paths announced by it, sorted.
func (h *house) polled(args ...string) []string {
	h.t.Helper()
	p, before := h.poller(args...), strings.Count(h.log.String(), "msg=announced ")
	if err := p.Poll(context.Background()); err != nil {
		h.t.Fatal(err)
	}
	var out []string
	for i, line := range strings.Split(h.log.String(), "msg=announced ") {
		if i > before {
			at, _, _ := strings.Cut(line[strings.Index(line, " path=")+6:], " sum=")
			out = append(out, strings.Trim(at, `"`))
		}
	}
	slices.Sort(out)
	return out
}

func (h *house) expect(what string, got []string, want ...string) {
	h.t.Helper()
	if !slices.Equal(got, want) {
		h.t.Errorf("%s: announced %q, want %q", what, got, want)
	}
}

// served is a directory behind sr_serve.
func served(t *testing.T, dir string) string {
	handler, err := serve.Handler(serve.Options{Dir: dir, Listing: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

// tree is all files below a directory, with what they hold.
func (h *house) tree(dir string) map[string]string {
	h.t.Helper()
	out := make(map[string]string)
	root := filepath.Join(h.dir, dir)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			rel, _ := filepath.Rel(root, path)
			out[rel] = h.content(filepath.Join(dir, rel))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.t.Fatal(err)
	}
	return out
}

// What is polled and what is fetched are equal trees, over nginx, vsftpd, sr_serve and file:. A
// second start announces nothing; what changed, and what was removed and is back, is announced.
func TestPollTrees(t *testing.T) {
	for name, start := range map[string]func(*testing.T, string) string{
		"nginx":    func(t *testing.T, dir string) string { return nginx.StartListing(t, dir) },
		"vsftpd":   func(t *testing.T, dir string) string { return "ftp://" + vsftpd.Start(t, dir, vsftpd.Options{}) },
		"sr_serve": served,
		"file":     func(_ *testing.T, dir string) string { return "file://" + dir },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			for i, path := range []string{"one.txt", "sub/a b#c%20d.txt", "sub/deep/er/ü.bin", "sub/empty"} {
				h.write("src/pub/"+path, strings.Repeat("x", 1000*i%3000))
			}
			destination := start(t, h.dir+"/src")
			args := []string{"-destination", destination, "-directory", "pub", "-accept", ".*"}
			f, _ := h.run(config.Subscribe, "-exchange", "xout", "-mirror", "-directory", h.dir+"/got", "-base_dir", h.dir+"/src")
			same := func(n int64) {
				t.Helper()
				h.until("all are fetched", func() bool { return f.Counters.Fetched.Load() == n })
				got := h.tree("got")
				if name == "file" { // announced by absolute path
					got = h.tree("got/" + h.dir + "/src")
				}
				if want := h.tree("src"); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}
			if n := len(h.polled(args...)); n != 4 {
				t.Fatalf("announced %d", n)
			}
			same(4)
			h.expect("a second start", h.polled(args...))
			h.write("src/pub/one.txt", "changed")
			if n := len(h.polled(args...)); n != 1 {
				t.Errorf("of one change, announced %d", n)
			}
			same(5)
			if err := os.RemoveAll(h.dir + "/src/pub/sub/deep"); err != nil {
				t.Fatal(err)
			}
			h.expect("a removal", h.polled(args...))
			h.write("src/pub/sub/deep/er/ü.bin", strings.Repeat("x", 2000))
			if n := len(h.polled(args...)); n != 1 {
				t.Errorf("of one that is back, announced %d", n)
			}
			same(6)
		})
	}
}

// The announcement is that of v02: where it is fetched, whole, its sum left to who fetches,
// and nothing of its times (sr_poll(1)). What was rounded is no size.
func TestPollAnnouncement(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	web := h.web(map[string]string{"/a/pub/x/": `<pre><a href="f">f</a> 2026-11-01 10:00 12
		<a href="big">big</a> 2026-11-01 10:00 1.2K
		<a href="q%3f">q</a></pre>`})
	at := strings.Replace(web.URL, "://", "://user:secret@", 1)
	h.polled("-destination", at+"/a", "-directory", "pub/x", "-file_time_limit", "0", "-accept", "f", "-filename", "rename=/r/", "-accept", "q", "-filename", "None", "-accept", ".*")
	h.until("all are here", func() bool { return len(got()) == 3 })
	seen := make(map[string]string)
	for _, a := range got() {
		if a.Base != strings.Replace(web.URL, "://", "://user@", 1)+"/a/" || a.Sum.String() != "z,d" || a.Header("mtime")+a.Header("mode") != "" {
			t.Errorf("%+v", a)
		}
		seen[a.Path] = fmt.Sprint(a.Size(), a.Header("rename"))
	}
	if want := map[string]string{"pub/x/f": "12", "pub/x/big": "-1", "pub/x/q?": "-1/r/q?"}; fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("announced %q, want %q", seen, want)
	}
	if strings.Contains(h.log.String(), "secret") {
		t.Error("the log tells the password")
	}
}

// Rules see the name of the file only, and belong to the directory they stand under.
func TestPollRules(t *testing.T) {
	h := newHouse(t)
	for _, path := range []string{"a/x.txt", "a/x.tmp", "a/b/x.txt", "a/b/y.dat", "c/x.txt", "c/y.dat", "d/x.txt"} {
		h.write("src/"+path, path)
	}
	h.expect("by name", h.polled("-destination", "file:"+h.dir+"/src", "-post_base_url", "http://h.example/",
		"-reject", `.*\.tmp`, "-directory", "a", "-accept", "x.*", "-directory", "a/b", "-accept", `y\.`, "-directory", "/c", "-reject", "x", "-accept", ".*"),
		"a/b/y.dat", "a/x.txt", "c/y.dat")
	for _, args := range [][]string{
		{"-destination", "file:/tmp", "-reject", "x"},
		{"-accept", ".*", "-post_base_url", "http://h/"},
		{"-destination", "gopher://h/", "-accept", ".*"},
		{"-destination", "http://h/", "-accept", ".*", "-destination_timezone", "Nowhere/At_all"},
		{"-destination", "http://h/", "-accept", ".*", "-inflight", ".tmp"},
	} {
		if err := h.poller(args...).CheckPoll(); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

// What is too old, too young or not readable is left, and taken when that changes.
func TestPollEligible(t *testing.T) {
	h := newHouse(t)
	old, closed, young := h.write("src/old", "x"), h.write("src/closed", "x"), h.write("src/young", "x")
	if err := errors.Join(os.Chtimes(old, time.Time{}, time.Now().Add(-61*24*time.Hour)), os.Chmod(closed, 0o200),
		os.Chtimes(closed, time.Time{}, time.Now().Add(-time.Hour)), os.Chtimes(young, time.Time{}, time.Now().Add(time.Minute))); err != nil {
		t.Fatal(err)
	}
	args := []string{"-destination", "file:" + h.dir + "/src", "-post_base_url", "http://h.example/", "-accept", ".*", "-inflight", "30s"}
	h.expect("at first", h.polled(args...))
	if err := errors.Join(os.Chmod(closed, 0o400), os.Chtimes(young, time.Time{}, time.Now().Add(-time.Minute))); err != nil {
		t.Fatal(err)
	}
	h.expect("then", h.polled(args...), "closed", "young")
	h.expect("with another limit", h.polled(append(args, "-file_time_limit", "0")...), "old")
}

// listed serves one page, which the test changes.
type listed struct{ page atomic.Pointer[string] }

func (l *listed) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if p := l.page.Load(); p != nil {
		io.WriteString(w, *p)
		return
	}
	http.Error(w, "out of order", http.StatusInternalServerError)
}

func (l *listed) set(page string) { l.page.Store(&page) }

// A tourist makes passes at the times the test gives.
func (h *house) tourist(args ...string) (pass func(at string) int64, p *Poster) {
	h.t.Helper()
	p = h.poller(args...)
	now := new(atomic.Pointer[time.Time])
	p.host.Now = func() time.Time { return *now.Load() }
	q, err := p.newPoller()
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	start := time.Now()
	now.Store(&start)
	stop, err := p.start(ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := errors.Join(stop(ctx), q.from.Close()); err != nil {
			h.t.Error(err)
		}
		cancel()
	})
	return func(at string) int64 {
		clock, err := time.Parse("2006-01-02 15:04:05", at)
		if err != nil {
			h.t.Fatal(err)
		}
		now.Store(&clock)
		before := p.Counters.Announced.Load()
		q.pass(ctx)
		return p.Counters.Announced.Load() - before
	}, p
}

// A file that is still growing waits until it looks the same in two passes; one that has
// been quiet for a sleep is announced at once.
func TestPollGrowing(t *testing.T) {
	h := newHouse(t)
	var l listed
	web := httptest.NewServer(&l)
	t.Cleanup(web.Close)
	pass, _ := h.tourist("-destination", web.URL, "-accept", ".*", "-sleep", "300", "-suppress_duplicates", "off")
	const quiet = `<pre><a href="quiet">q</a> 21-Nov-2026 09:00 5` + "\n"
	for i, step := range []struct {
		at, page string
		want     int64
	}{
		{"2026-11-21 10:00:30", quiet + `<a href="f">f</a> 21-Nov-2026 10:00 100`, 1},
		{"2026-11-21 10:01:30", quiet + `<a href="f">f</a> 21-Nov-2026 10:01 200`, 0},
		{"2026-11-21 10:02:30", quiet + `<a href="f">f</a> 21-Nov-2026 10:01 200`, 1},
		{"2026-11-21 10:03:30", quiet + `<a href="f">f</a> 21-Nov-2026 10:01 200`, 0},
		{"2026-11-21 10:04:30", quiet + `<a href="f">f</a> 21-Nov-2026 10:04 200`, 0},
		{"2026-11-21 10:20:00", quiet + `<a href="f">f</a> 21-Nov-2026 10:04 200`, 1},
	} {
		l.set(step.page)
		if n := pass(step.at); n != step.want {
			t.Errorf("pass %d announced %d, want %d", i, n, step.want)
		}
	}
}

// A directory that fails is said once, keeps nobody else from being announced, and forgets
// nothing meanwhile.
func TestPollOutage(t *testing.T) {
	h := newHouse(t)
	var l listed
	mux := http.NewServeMux()
	mux.Handle("/a/", &l)
	mux.HandleFunc("/b/", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `<pre><a href="g">g</a> 2026-11-21 09:00 5`)
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	pass, _ := h.tourist("-destination", web.URL, "-directory", "a", "-accept", ".*", "-directory", "b", "-accept", ".*", "-sleep", "300", "-suppress_duplicates", "off")
	if n := pass("2026-11-21 10:00:00") + pass("2026-11-21 10:05:00"); n != 1 {
		t.Errorf("beside an outage announced %d", n)
	}
	l.set(`<pre><a href="f">f</a> 2026-11-21 09:00 5`)
	if n := pass("2026-11-21 10:10:00"); n != 1 {
		t.Errorf("after the outage announced %d", n)
	}
	l.page.Store(nil)
	pass("2026-11-21 10:15:00")
	l.set(`<pre><a href="f">f</a> 2026-11-21 09:00 5`)
	if n := pass("2026-11-21 10:20:00"); n != 0 {
		t.Errorf("after a second outage announced %d", n)
	}
	log := h.log.String()
	if n, m := strings.Count(log, `msg="not listed"`), strings.Count(log, `msg="listed again"`); n != 2 || m != 2 {
		t.Errorf("said %d times that it fails and %d times that it works", n, m)
	}
}

// A file that changes without growing is announced again although the cache remembers it.
func TestPollCache(t *testing.T) {
	h := newHouse(t)
	var l listed
	web := httptest.NewServer(&l)
	t.Cleanup(web.Close)
	pass, _ := h.tourist("-destination", web.URL, "-accept", ".*", "-sleep", "60")
	l.set(`<pre><a href="f">f</a> 2026-11-21 09:00 5`)
	pass("2026-11-21 10:00:00")
	l.set(`<pre><a href="f">f</a> 2026-11-21 10:01 5`)
	if n := pass("2026-11-21 10:10:00"); n != 1 {
		t.Errorf("announced %d", n)
	}
}

// A crash between confirm and remembering repeats: nothing is lost, and the cache keeps the
// repetition from others.
func TestPollCrash(t *testing.T) {
	h := newHouse(t)
	h.write("src/sub/f", "x")
	args := []string{"-destination", "file:" + h.dir + "/src", "-post_base_url", "http://h.example/", "-accept", ".*"}
	h.expect("at first", h.polled(args...), "sub/f")
	state := filepath.Join(h.dir, ".cache/sarra/poll/default/ls_sub")
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	h.expect("with the cache", h.polled(args...))
	if err := os.WriteFile(state, []byte("srpump listing 1 sub\nf 1 = garbage\n\x00\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.expect("without the cache", h.polled(append(args, "-suppress_duplicates", "off")...), "sub/f")
}

// The listing a v02 host left is taken over: only what changed since is announced.
func TestPollAdopts(t *testing.T) {
	h := newHouse(t)
	f, g := h.write("src/a_b/f", "x"), h.write("src/a_b/g", "x")
	then := time.Date(2026, 11, 20, 10, 0, 30, 0, time.UTC)
	if err := errors.Join(os.Chtimes(f, then, then), os.Chtimes(g, then, then)); err != nil {
		t.Fatal(err)
	}
	h.write(".cache/sarra/poll/default/ls_a_b", "-rw-r--r-- 1 a u 1 Nov 20 2026 f\n-rw-r--r-- 1 a u 2 Nov 20 2026 g\n")
	args := []string{"-destination", "file:" + h.dir + "/src", "-post_base_url", "http://h.example/", "-file_time_limit", "0", "-directory", "a_b", "-accept", ".*"}
	h.expect("taken over", h.polled(args...), "a_b/g")
	h.expect("then", h.polled(args...))
}

// Without the address of vip the listing is kept up, and nothing is announced; with
// poll_without_vip off nothing is looked at.
func TestPollVIP(t *testing.T) {
	h := newHouse(t)
	h.write("src/f", "x")
	args := []string{"-destination", "file:" + h.dir + "/src", "-post_base_url", "http://h.example/", "-accept", ".*", "-vip"}
	h.expect("idle", h.polled(append(args, "192.0.2.1", "-poll_without_vip", "off")...))
	for range standing + 1 {
		h.expect("watching", h.polled(append(args, "192.0.2.1")...))
	}
	h.write("src/g", "x")
	h.expect("in charge", h.polled(append(args, "127.0.0.1")...), "g")
}

// What the host in charge may not have come to announce before it failed is announced by the one
// that takes over.
func TestPollTakesOver(t *testing.T) {
	h := newHouse(t)
	args := []string{"-destination", "file:" + h.dir + "/src", "-post_base_url", "http://h.example/", "-accept", ".*", "-vip"}
	h.write("src/old", "x")
	h.expect("watching", h.polled(append(args, "192.0.2.1")...))
	h.write("src/f", "x")
	for range standing {
		h.expect("watching on", h.polled(append(args, "192.0.2.1")...))
	}
	h.expect("in charge", h.polled(append(args, "127.0.0.1")...), "f")
	h.expect("then", h.polled(append(args, "127.0.0.1")...))
}

// A file of some minute may have been written at the end of it.
func TestPollYoung(t *testing.T) {
	minute := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	e := poll.Entry{Name: "f", Size: 1, ModTime: minute, Precision: time.Minute}
	for _, c := range []struct {
		every, now time.Duration
		known      bool
		waits      bool
	}{
		{20 * time.Second, 30 * time.Second, false, true},
		{20 * time.Second, 50 * time.Second, true, false},
		{20 * time.Second, 61 * time.Second, false, true},
		{20 * time.Second, 81 * time.Second, false, false},
		{0, 30 * time.Second, false, false},
		{20 * time.Second, -time.Hour, true, false}, // clocks that differ keep nothing waiting
	} {
		tour := tour{poller: &poller{every: c.every}}
		r := tour.judge(e, record{Entry: e, waits: true}, c.known, minute.Add(c.now))
		if r.waits != c.waits || r.fresh == c.waits {
			t.Errorf("%+v: %+v", c, r)
		}
	}
}

// Links that lead in circles end a pass, and hide nothing that lies beside them.
func TestPollCircle(t *testing.T) {
	h := newHouse(t)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/a/") {
			io.WriteString(w, `<a href="f">f</a>`)
			return
		}
		io.WriteString(w, `<a href="a/">a</a> <a href="z/">z</a>`)
	}))
	t.Cleanup(web.Close)
	if got := h.polled("-destination", web.URL, "-accept", ".*"); !slices.Contains(got, "a/f") {
		t.Errorf("announced %d, not a/f", len(got))
	}
	if n := strings.Count(h.log.String(), `msg="not all directories listed"`); n != 1 {
		t.Errorf("said %d times", n)
	}
}

// With reset everything is announced again.
func TestPollReset(t *testing.T) {
	h := newHouse(t)
	h.write("src/f", "x")
	args := []string{"-destination", "file:" + h.dir + "/src", "-post_base_url", "http://h.example/", "-accept", ".*"}
	h.expect("at first", h.polled(args...), "f")
	h.expect("again", h.polled(args...))
	h.expect("reset", h.polled(append(args, "-reset")...), "f")
}

// A page that is cut short is an outage: nothing of the directory is taken for removed.
func TestPollCut(t *testing.T) {
	h := newHouse(t)
	var cut atomic.Bool
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		const page = `<pre><a href="f">f</a> 2026-11-21 09:00 5` + "\n" + `<a href="g">g</a> 2026-11-21 09:00 5</pre>`
		w.Header().Set("Content-Length", fmt.Sprint(len(page)))
		io.WriteString(w, page[:len(page)/2])
		if !cut.Load() {
			io.WriteString(w, page[len(page)/2:])
		}
	}))
	t.Cleanup(web.Close)
	args := []string{"-destination", web.URL, "-accept", ".*", "-file_time_limit", "0", "-suppress_duplicates", "off"}
	h.expect("at first", h.polled(args...), "f", "g")
	cut.Store(true)
	h.expect("cut", h.polled(args...))
	cut.Store(false)
	h.expect("then", h.polled(args...))
}

// A directory whose path is longer than a file name is remembered like any other.
func TestPollDeep(t *testing.T) {
	h := newHouse(t)
	deep := strings.Repeat(strings.Repeat("d", 100)+"/", 4)
	h.write("src/"+deep+"f", "x")
	args := []string{"-destination", "file:" + h.dir + "/src", "-post_base_url", "http://h.example/", "-accept", ".*"}
	h.expect("at first", h.polled(args...), deep+"f")
	h.expect("again", h.polled(append(args, "-suppress_duplicates", "off")...))
	if strings.Contains(h.log.String(), "not recalled") {
		t.Error(h.log.String())
	}
}
