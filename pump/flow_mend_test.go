package pump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
)

// stalled is a server that answers only once released.
func (h *house) stalled() (url string, release func()) {
	free := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-free:
			io.WriteString(w, "slow")
		case <-r.Context().Done():
		}
	}))
	h.t.Cleanup(s.Close)
	return s.URL + "/", func() { close(free) }
}

// A stalled host cannot fill the memory: what no worker has begun goes to disk and out of the
// flow, is acknowledged, and arrives when the host is back. Other hosts go on.
func TestStalledHostSpills(t *testing.T) {
	h := newHouse(t)
	url, release := h.stalled()
	good := h.web(map[string]string{"/good": "good"})
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out", "-prefetch", "50", "-instances", "4")
	var slow []*post.Announcement
	for i := range 50 {
		slow = append(slow, announced(url, fmt.Sprint("f", i), "slow", 1700000000))
	}
	h.post("xpublic", slow...)
	h.until("all are on disk, and only what is begun is left", func() bool {
		f.spill(time.Now().Add(time.Second)) // what was counted as received may not have come to the workers yet
		n, _ := f.jobs.len()
		return f.retries.Len() == 50 && n <= 4
	})
	h.post("xpublic", announced(good.URL+"/", "good", "good", 1700000000))
	h.until("another host is served", func() bool { return h.content("out/good") == "good" })
	release()
	for _, e := range f.retries.Due(time.Now().Add(time.Hour), 100) {
		f.retries.Postpone(e, 0) // they need not wait in a test
	}
	h.until("all arrive", func() bool { return f.Counters.Fetched.Load() == 51 })
	h.until("nothing is left", func() bool { return f.retries.Len() == 0 })
}

// A job that fails while it is moved to disk is on disk once, and is not forgotten.
func TestSpillAfterFailure(t *testing.T) {
	h := newHouse(t)
	web := h.web(nil)
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out")
	h.post("xpublic", announced(web.URL+"/", "x", "x", 1700000000))
	h.until("it failed", func() bool { return f.Counters.Retried.Load() > 0 })
	j := &job{a: announced(web.URL+"/", "x", "x", 1700000000), over: true}
	if err := f.spillJob(j); err != nil || f.retries.Len() != 1 {
		t.Errorf("%v, %d entries", err, f.retries.Len())
	}
}

// A second source that fails for now is tried when the first is gone for good.
func TestSecondSourceIsKept(t *testing.T) {
	h := newHouse(t)
	gone := h.web(nil)
	var back bool
	later := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !back {
			back = true
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "the same")
	}))
	defer later.Close()
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out", "-attempts", "1")
	h.post("xpublic", announced(gone.URL+"/", "x", "the same", 1700000001))
	h.until("the first waits", func() bool { return f.Counters.Retried.Load() == 1 })
	h.post("xpublic", announced(later.URL+"/", "x", "the same", 1700000000))
	h.until("the second arrives", func() bool { return h.content("out/x") == "the same" })
}

// A date in the far future does not make everything after it look old.
func TestFarFuture(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/a": "aaa", "/b": "bbb"})
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out")
	for i, v := range []string{"a", "b"} {
		a := announced(web.URL+"/", v, strings.Repeat(v, 3), 0)
		a.Time = post.At(time.Now().AddDate(1000-999*i, 0, 0))
		a.Headers["rename"] = "x"
		h.post("xpublic", a)
		h.until(v, func() bool { return f.Counters.Fetched.Load() == int64(i+1) })
	}
}

// What no broker takes is kept aside; the flow goes on, also when it is given again.
func TestUnannounceable(t *testing.T) {
	h := newHouse(t)
	f, _ := h.run(config.Winnow, "-exchange", "xin", "-post_exchange", "xout")
	cc := announced("http://h/", "y", "y", 1700000000)
	cc.Headers["CC"] = []any{"elsewhere"}
	m, err := post.EncodeV02(cc)
	if err != nil || m.Headers["CC"] != nil {
		t.Errorf("CC is sent on: %v %v", m.Headers, err)
	}
	f.confirmed(&job{came: cc, a: cc}, &broker.Error{Op: "publish", Object: "x", Kind: broker.ErrMessage})
	h.until("the flow goes on", func() bool { return f.Counters.GivenUp.Load() == 1 })
	if f.fatal != nil {
		t.Error(f.fatal)
	}
}

// sr_options(5), srcpath: the second reading of an ambiguous srcpath has a place of its own.
func TestSecondReading(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/data/x/mine.gif": "gif", "/data/x/other.gif": "other"})
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out", "-mirror", "on")
	for _, name := range []string{"mine.gif", "other.gif"} {
		a := announced(web.URL+"/data", "x/"+name, map[string]string{"mine.gif": "gif", "other.gif": "other"}[name], 1700000000)
		a.Headers["rename"] = "d/"
		h.post("xpublic", a)
	}
	h.until("both are fetched", func() bool { return f.Counters.Fetched.Load() == 2 })
	if h.content("out/d/mine.gif") != "gif" || h.content("out/d/other.gif") != "other" {
		t.Errorf("%q %q", h.content("out/d/mine.gif"), h.content("out/d/other.gif"))
	}
}

// What waits to be tried again when a pipe is stopped counts as well.
func TestStoppedPipeWithRetries(t *testing.T) {
	h := newHouse(t)
	web := h.web(nil)
	m, err := post.EncodeV02(announced(web.URL+"/", "nosuch", "x", 1700000000))
	if err != nil {
		t.Fatal(err)
	}
	in, out := io.Pipe()
	defer out.Close()
	host := h.host()
	host.Stdin = in
	f, err := NewFlow(h.config(config.Subscribe, "-broker", "-", "-directory", h.dir+"/out", "-attempts", "1"), host)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	fmt.Fprintf(out, "[%q,{\"sum\":%q,\"parts\":%q},%q]\n", m.Topic, m.Headers["sum"], m.Headers["parts"], strings.TrimSpace(string(m.Body)))
	h.until("it failed", func() bool { return f.Counters.Retried.Load() > 0 })
	cancel()
	if err := <-ended; !errors.Is(err, errDropped) || !strings.HasSuffix(err.Error(), ": 1 announcement") {
		t.Errorf("ended with %v", err)
	}
}

// What was read from a pipe and not done is on disk when a configured flow stops; one that keeps
// nothing says so.
func TestStoppedPipe(t *testing.T) {
	for _, conf := range []bool{true, false} {
		h := newHouse(t)
		url, _ := h.stalled()
		m, err := post.EncodeV02(announced(url, "x", "slow", 1700000000))
		if err != nil {
			t.Fatal(err)
		}
		cfg := h.config(config.Subscribe, "-broker", "-", "-directory", h.dir+"/out")
		if conf {
			cfg.Path = h.dir + "/x.conf"
		}
		in, out := io.Pipe()
		host := h.host()
		host.Stdin = in
		f, err := NewFlow(cfg, host)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- f.Run(ctx) }()
		fmt.Fprintf(out, "[%q,{\"sum\":%q,\"parts\":%q},%q]\n", m.Topic, m.Headers["sum"], m.Headers["parts"], strings.TrimSpace(string(m.Body)))
		h.until("it is read", func() bool { return f.Counters.Received.Load() == 1 })
		cancel()
		err = <-ended
		out.Close()
		kept, _ := os.ReadFile(filepath.Join(f.state, "retry.jsonl"))
		if conf && (err != nil || !strings.Contains(string(kept), url)) || !conf && err == nil {
			t.Errorf("configured %v: %v, kept %q", conf, err, kept)
		}
	}
}

func TestSameBroker(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"amqp://u@h/", "amqp://v@H:5672/", true}, {"amqp://h/", "amqp://h:5671/", false}, {"amqps://h/x", "amqps://h:5671/x", true},
		{"sqlite:///a", "sqlite:///a", true}, {"sqlite:///a", "sqlite:///b", false},
	} {
		if got := (endpoint{url: c.a}).same(endpoint{url: c.b}); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

// sr_options(5), kbytes_ps: one pace holds back all transfers of a flow.
func TestKbytesPs(t *testing.T) {
	h := newHouse(t)
	f, err := NewFlow(h.config(config.Subscribe, "-kbytes_ps", "64"), h.host())
	if err != nil {
		t.Fatal(err)
	}
	f.openTransfers()
	defer f.install.Close()
	defer f.sources.Close()
	a := &post.Announcement{}
	if one, two := f.fetchJob(&job{a: a}, nil).Pace, f.fetchJob(&job{a: a}, nil).Pace; one == nil || one != two {
		t.Errorf("paces are %v and %v", one, two)
	}
}
