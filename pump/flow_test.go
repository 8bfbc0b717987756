package pump

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/broker/sqlite"
	"srpump/pump/config"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "stage-filter" {
		runTestFilter(os.Args[2:])
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2.runClock")) // ends by itself, later
}

// A house is a directory with a local broker, and what flows in it log.
type house struct {
	t   *testing.T
	dir string
	db  string
	log logBuffer
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newHouse(t *testing.T) *house {
	dir := t.TempDir()
	h := &house{t: t, dir: dir, db: filepath.Join(dir, "pump.db")}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(h.log.String())
		}
	})
	return h
}

func (h *house) host() *Host {
	return &Host{Log: slog.New(slog.NewTextHandler(&h.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Cwd: h.dir, Database: h.db, Version: "test", Hostname: "test.host", Now: time.Now}
}

func (h *house) config(p config.Preset, args ...string) *config.Config {
	h.t.Helper()
	words, rest, err := config.NormalizeArgs(args)
	if err != nil || len(rest) > 0 {
		h.t.Fatal(err, rest)
	}
	cfg, problems := config.Load(config.Request{Env: config.Env{Home: h.dir, Cwd: h.dir}, Preset: p, Args: words})
	if config.Failed(problems) {
		h.t.Fatal(problems)
	}
	return cfg
}

// run starts a flow and returns it with a function that stops it and fails the
// test when it ended with an error.
func (h *house) run(p config.Preset, args ...string) (*Flow, func()) {
	h.t.Helper()
	f, err := NewFlow(h.config(p, args...), h.host())
	if err != nil {
		h.t.Fatal(err)
	}
	before := strings.Count(h.log.String(), "consuming")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	var once sync.Once
	stop := func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				h.t.Errorf("%s ended with %v", p.Program(), err)
			}
		})
	}
	h.t.Cleanup(stop)
	h.until("consuming", func() bool { return strings.Count(h.log.String(), "consuming") > before })
	return f, stop
}

// until waits for a condition.
func (h *house) until(what string, ok func() bool) {
	h.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			h.t.Fatalf("still waiting: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (h *house) conn() broker.Conn {
	h.t.Helper()
	c, err := sqlite.Open(context.Background(), "sqlite://"+h.db, broker.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { c.Close() })
	return c
}

// post publishes announcements to an exchange.
func (h *house) post(exchange string, as ...*post.Announcement) {
	h.t.Helper()
	var ps []broker.Publishing
	for _, a := range as {
		m, err := post.EncodeV02(a)
		if err != nil {
			h.t.Fatal(err)
		}
		ps = append(ps, broker.Publishing{Key: m.Topic, Headers: m.Headers, Body: m.Body})
	}
	h.publish(exchange, ps...)
}

func (h *house) publish(exchange string, ps ...broker.Publishing) {
	h.t.Helper()
	ctx := context.Background()
	c := h.conn()
	if err := c.DeclareExchange(ctx, broker.Exchange{Name: exchange}); err != nil {
		h.t.Fatal(err)
	}
	pub, err := c.Publisher(ctx, broker.PublishOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	defer pub.Close()
	for _, p := range ps {
		p.Exchange = exchange
		if err := pub.Publish(ctx, p, func(error) {}); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := pub.Flush(ctx); err != nil {
		h.t.Fatal(err)
	}
}

// capture collects what is announced on an exchange.
func (h *house) capture(exchange string) func() []*post.Announcement {
	h.t.Helper()
	ctx, c := context.Background(), h.conn()
	q := "capture-" + exchange
	_, qerr := c.DeclareQueue(ctx, broker.Queue{Name: q})
	if err := errors.Join(c.DeclareExchange(ctx, broker.Exchange{Name: exchange}), qerr,
		c.Bind(ctx, broker.Binding{Queue: q, Exchange: exchange, Pattern: "#"})); err != nil {
		h.t.Fatal(err)
	}
	cons, err := c.Consume(ctx, q, broker.ConsumeOptions{Prefetch: 10000})
	if err != nil {
		h.t.Fatal(err)
	}
	var mu sync.Mutex
	var got []*post.Announcement
	go func() {
		for {
			d, err := cons.Next(ctx)
			if err != nil {
				return
			}
			if a, err := post.Decode(d.Key, d.Headers, d.Body); err == nil {
				mu.Lock()
				got = append(got, a)
				mu.Unlock()
			}
		}
	}()
	return func() []*post.Announcement {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

// announced is an announcement of content at path below base, made at second s.
func announced(base, path, content string, s int64) *post.Announcement {
	sum, n, _ := post.OfReader(post.SumMD5, strings.NewReader(content), make([]byte, 512))
	return &post.Announcement{Topic: post.MakeTopic(post.DefaultPrefix, path, true), Time: post.At(time.Unix(s, 0)), Base: base, Path: path,
		Sum: sum, Block: partition.WholeFile(n), Headers: map[string]any{}}
}

func (h *house) content(path string) string {
	b, err := os.ReadFile(filepath.Join(h.dir, path))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(b)
}

// web serves files from memory; a missing one is 404.
func (h *house) web(files map[string]string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := files[r.URL.Path]; ok {
			io.WriteString(w, c)
			return
		}
		http.NotFound(w, r)
	}))
	h.t.Cleanup(s.Close)
	return s
}

// sr_sarra(1): the copy is announced with its own place and the first timestamp;
// unknown headers stay, source and cluster are filled in.
func TestSarra(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/sub/foo.txt": "hello world\n"})
	got := h.capture("xcopy")
	_, stop := h.run(config.Sarra, "-exchange", "xin", "-post_exchange", "xcopy", "-post_base_url", "http://me:8000/", "-post_base_dir", h.dir+"/pub",
		"-directory", "${PBD}/${SOURCE}", "-cluster", "here", "-to", "there")
	a := announced(web.URL+"/", "sub/foo.txt", "hello world\n", 1700000000)
	a.Headers = map[string]any{"source": "SRC", "x_unknown": "keep", "rename": "/sub/bar.txt", "mode": "640", "mtime": "20200102030405.25"}
	h.post("xin", a)
	h.until("the copy is announced", func() bool { return len(got()) == 1 })
	stop()
	c := got()[0]
	if c.Topic != "v02.post.SRC.sub.bar.txt" || c.Base != "http://me:8000/" || c.Path != "SRC/sub/bar.txt" || !c.Time.Time().Equal(a.Time.Time()) ||
		c.Header("x_unknown") != "keep" || c.Header("rename") != "" || c.Header("from_cluster") != "here" || c.Header("to_clusters") != "there" || c.Sum != a.Sum || c.Block != a.Block {
		t.Errorf("%+v", c)
	}
	fi, err := os.Stat(filepath.Join(h.dir, "pub/SRC/sub/bar.txt"))
	if err != nil || fi.Mode().Perm() != 0o640 || fi.ModTime().UnixMilli() != 1577934245250 {
		t.Errorf("%v %v", fi, err)
	}
}

// sr_winnow(1): each fingerprint passes once, unchanged.
func TestWinnow(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	f, stop := h.run(config.Winnow, "-exchange", "xin", "-post_exchange", "xout")
	var all []*post.Announcement
	for i := range 300 {
		all = append(all, announced(fmt.Sprintf("http://source%d/", i%3), fmt.Sprintf("f/%d", i/3), fmt.Sprint(i/3), 1700000000))
	}
	h.post("xin", all...)
	h.until("all are decided", func() bool { return f.Counters.Winnowed.Load() == 200 && len(got()) == 100 })
	stop()
	for i, a := range got() {
		if a.Base != "http://source0/" || a.Path != fmt.Sprintf("f/%d", i) {
			t.Errorf("%d: %s %s", i, a.Base, a.Path)
		}
	}
	f, _ = h.run(config.Winnow, "-exchange", "xin", "-post_exchange", "xout")
	h.post("xin", announced("http://source9/", "f/7", "7", 1700000001))
	h.until("the cache is remembered", func() bool { return f.Counters.Winnowed.Load() == 1 })
}

// Two sources of which the faster fails: the parked copy of the other takes over.
func TestFasterSourceFails(t *testing.T) {
	h := newHouse(t)
	release := make(chan struct{})
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-release
		http.NotFound(w, r)
	}))
	defer broken.Close()
	good := h.web(map[string]string{"/x": "the same"})
	f, _ := h.run(config.Subscribe, "-suppress_duplicates", "on", "-directory", h.dir+"/out", "-retry_permanent", "2")
	h.post("xpublic", announced(broken.URL+"/", "x", "the same", 1700000000))
	h.until("the first is taken in", func() bool { return f.Counters.Received.Load() == 1 })
	h.post("xpublic", announced(good.URL+"/", "x", "the same", 1699999999)) // by another clock
	h.until("the second is parked", func() bool { return f.Counters.Received.Load() == 2 })
	close(release)
	h.until("the second is fetched", func() bool { return f.Counters.Fetched.Load() == 1 })
	if got := h.content("out/x"); got != "the same" {
		t.Errorf("installed %q", got)
	}
	h.until("the first is void", func() bool { return f.retries.Len() == 0 })
}

// A poison message is kept aside and acknowledged; the next one is processed.
func TestPoison(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/ok": "fine"})
	f, stop := h.run(config.Subscribe, "-directory", h.dir+"/out")
	for _, body := range []string{"", "nospace", "two fields", "20200102030405.25 http://h/ bad\xff", "notadate http://h/ x", `{"v":"03"}`} {
		h.publish("xpublic", broker.Publishing{Key: "v02.post.x", Body: []byte(body)})
	}
	evil := announced(web.URL+"/", "ok", "fine", 1700000000)
	evil.Headers["rename"] = "../../etc/passwd"
	h.post("xpublic", evil, announced(web.URL+"/", "ok", "fine", 1700000000))
	h.until("the good one is here", func() bool { return h.content("out/ok") == "fine" })
	h.until("all are done", func() bool { n, _ := f.jobs.len(); return n == 0 })
	stop()
	if n := strings.Count(h.content(strings.TrimPrefix(f.DeadLetters(), h.dir)), "\n"); n != 7 || f.Counters.Malformed.Load() != 6 || f.Counters.GivenUp.Load() != 1 {
		t.Errorf("%d dead letters, %d malformed, %d given up", n, f.Counters.Malformed.Load(), f.Counters.GivenUp.Load())
	}
	_, stop = h.run(config.Subscribe, "-directory", h.dir+"/out")
	stop()
	if f.Counters.Received.Load() != 8 {
		t.Errorf("received %d", f.Counters.Received.Load())
	}
}

// What fails is tried again, and arrives when its source has it; what never
// comes is given up after a bounded number of tries and kept aside.
func TestRetry(t *testing.T) {
	h := newHouse(t)
	var there atomic.Bool
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" && there.Load() {
			io.WriteString(w, "here now")
			return
		}
		http.NotFound(w, r)
	}))
	defer web.Close()
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out", "-retry_permanent", "3")
	h.post("xpublic", announced(web.URL+"/", "late", "here now", 1700000000), announced(web.URL+"/", "never", "x", 1700000000))
	h.until("both wait", func() bool { return f.Counters.Retried.Load() >= 2 })
	there.Store(true)
	h.until("it arrives", func() bool { return h.content("out/late") == "here now" })
	h.until("the other is given up", func() bool { return f.Counters.GivenUp.Load() == 1 && f.retries.Len() == 0 })
	if s := h.content(strings.TrimPrefix(f.DeadLetters(), h.dir)); !strings.Contains(s, "never") || !strings.Contains(s, "404") {
		t.Errorf("dead letter %q", s)
	}
}

// sr_options(5), sum_mismatch: two complete fetches that agree are installed with the true
// sum; strict never installs.
func TestSumMismatch(t *testing.T) {
	for mode, want := range map[string]string{"auto": "the new bytes", "strict": ""} {
		t.Run(mode, func(t *testing.T) {
			h := newHouse(t)
			web := h.web(map[string]string{"/x": "the new bytes"})
			got := h.capture("xcopy")
			f, _ := h.run(config.Sarra, "-exchange", "xin", "-post_exchange", "xcopy", "-directory", h.dir+"/out", "-sum_mismatch", mode, "-retry_permanent", "1")
			h.post("xin", announced(web.URL+"/", "x", "the old ones", 1700000000))
			if want == "" {
				h.until("it is given up", func() bool { return f.Counters.GivenUp.Load() == 1 })
				if _, err := os.Stat(filepath.Join(h.dir, "out/x")); err == nil {
					t.Error("installed")
				}
				return
			}
			h.until("it is announced", func() bool { return len(got()) == 1 })
			if a := got()[0]; a.Sum.Value != fmt.Sprintf("%x", md5.Sum([]byte(want))) || a.Size() != int64(len(want)) || h.content("out/x") != want {
				t.Errorf("%+v", a)
			}
		})
	}
}

// Nothing older than what a path last received goes over it, and a removal makes
// waiting retries of its path void.
func TestOrderOfPath(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/new": "new", "/old": "old"})
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out")
	version := func(from, content string, s int64) *post.Announcement {
		a := announced(web.URL+"/", from, content, s)
		a.Headers["rename"] = "x"
		return a
	}
	h.post("xpublic", version("new", "new", 1700000002), version("old", "old", 1700000001))
	h.until("the older is dropped", func() bool { return f.Counters.Superseded.Load() == 1 })
	if got := h.content("out/x"); got != "new" {
		t.Errorf("x is %q", got)
	}
	gone := announced(web.URL+"/", "missing", "m", 1700000003)
	h.post("xpublic", gone)
	h.until("it waits", func() bool { return f.retries.Len() == 1 })
	rm := announced(web.URL+"/", "missing", "", 1700000004)
	rm.Sum, rm.Block = post.OfRemoval("missing"), partition.Block{}
	h.post("xpublic", rm)
	h.until("the retry is void", func() bool { return f.retries.Len() == 0 && f.Counters.Removed.Load() == 1 })
}

// A → B → A and post → delete → same again must arrive, with a cache or without.
func TestReturnsArrive(t *testing.T) {
	h := newHouse(t)
	var now atomic.Value
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, now.Load().(string)) }))
	defer web.Close()
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out", "-suppress_duplicates", "on")
	for i, content := range []string{"aaa", "bbb", "aaa", "", "aaa"} {
		now.Store(content)
		a := announced(web.URL+"/", "x", content, 1700000000+int64(i))
		if content == "" {
			a.Sum, a.Block = post.OfRemoval("x"), partition.Block{}
		}
		h.post("xpublic", a)
		h.until(fmt.Sprintf("step %d is done", i), func() bool { return f.Counters.Fetched.Load()+f.Counters.Removed.Load() == int64(i+1) })
	}
	if got := h.content("out/x"); got != "aaa" {
		t.Errorf("x is %q", got)
	}
}

// What takes longer than the broker may wait goes to disk and is acknowledged; it goes on all the same.
func TestSpill(t *testing.T) {
	h := newHouse(t)
	release, begun := make(chan struct{}), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-release
		io.WriteString(w, "slow")
	}))
	defer slow.Close()
	f, stop := h.run(config.Subscribe, "-directory", h.dir+"/out")
	h.post("xpublic", announced(slow.URL+"/", "x", "slow", 1700000000))
	<-begun // what no worker has begun would leave the flow
	f.spill(time.Now().Add(time.Second))
	if all, due := f.jobs.len(); all != 1 || due != 0 || f.retries.Len() != 1 || len(f.slots) > 1 {
		t.Errorf("%d jobs, %d due, %d slots", all, due, len(f.slots))
	}
	close(release)
	h.until("it arrives", func() bool { return h.content("out/x") == "slow" })
	h.until("it is taken off the disk", func() bool { return f.retries.Len() == 0 })
	stop()
}

// A pump killed between installing and announcing announces at its next start; one
// that is fed its own copy does not.
func TestUnchanged(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/x": "here"})
	got := h.capture("xcopy")
	args := []string{"-exchange", "xin", "-post_exchange", "xcopy", "-directory", h.dir + "/out"}
	f, stop := h.run(config.Sarra, args...)
	h.post("xin", announced(web.URL+"/", "x", "here", 1700000000))
	h.until("it is announced", func() bool { return len(got()) == 1 })
	h.post("xin", announced(web.URL+"/", "x", "here", 1700000001))
	h.until("it is unchanged", func() bool { return f.Counters.Unchanged.Load() == 1 })
	h.until("it is done", func() bool { n, _ := f.jobs.len(); return n == 0 })
	stop()
	if len(got()) != 1 {
		t.Errorf("announced %d times", len(got()))
	}
	if err := os.WriteFile(filepath.Join(f.state, "running"), nil, 0o600); err != nil { // as a killed run leaves it
		t.Fatal(err)
	}
	f, _ = h.run(config.Sarra, args...)
	h.post("xin", announced(web.URL+"/", "x", "here", 1700000002))
	h.until("it is announced again", func() bool { return len(got()) == 2 })
	if f.Counters.Fetched.Load() != 0 {
		t.Error("fetched again")
	}
}

func TestPlanRefuses(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct {
		preset config.Preset
		args   []string
		want   error
	}{
		{config.Sarra, []string{"-exchange", "x", "-post_exchange", "x"}, errLoop},
		{config.Sarra, []string{"-broker", "amqp://u:p@h/", "-post_exchange", "y"}, errNoBaseURL},
		{config.Subscribe, []string{"-inflight", "xyz"}, nil},
		{config.Subscribe, []string{"-accept", "("}, nil},
		{config.Subscribe, []string{"-header", "x"}, nil},
		{config.Subscribe, []string{"-broker", "http://h/"}, nil},
	} {
		f, err := NewFlow(h.config(c.preset, c.args...), h.host())
		if err == nil {
			err = f.Run(context.Background())
		}
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%v: %v", c.args, err)
		}
	}
	f := &Flow{cfg: h.config(config.Subscribe), plan: plan{from: endpoint{url: "amqp://h/"}}}
	if err := f.mayReadLocal(); !errors.Is(err, errLocal) {
		t.Errorf("a file of this host announced over AMQP: %v", err)
	}
	f.cfg = h.config(config.Subscribe, "-base_dir", h.dir)
	if err := f.mayReadLocal(); err != nil {
		t.Errorf("the same below base_dir: %v", err)
	}
}

// A slow host occupies its share of the workers and no more.
func TestPoolShares(t *testing.T) {
	var mu sync.Mutex
	running, most := map[string]int{}, map[string]int{}
	release, fast := make(chan struct{}), make(chan struct{}, 100)
	p := newPool(4, 3, false, func(_ context.Context, j *job) {
		mu.Lock()
		running[j.source]++
		most[j.source] = max(most[j.source], running[j.source])
		mu.Unlock()
		if j.source == "slow" {
			<-release
		} else {
			fast <- struct{}{}
		}
		mu.Lock()
		running[j.source]--
		mu.Unlock()
	})
	for range 20 {
		p.add(context.Background(), &job{source: "slow"})
	}
	for range 100 {
		p.add(context.Background(), &job{source: "fast"})
	}
	for range 100 {
		<-fast
	}
	close(release)
	p.close()
	if most["slow"] > 3 || len(p.lines) > 1 {
		t.Errorf("the slow host had %d of 4 workers; %d lines left", most["slow"], len(p.lines))
	}
}
