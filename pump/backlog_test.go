package pump

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"srpump/post"
	"srpump/pump/config"
)

func waitingJob(host, path string, announced, began time.Time) *job {
	return &job{source: host, began: began, a: &post.Announcement{Path: path, Time: post.At(announced)}}
}

// sr_options(5), order: the newest of what waits comes first, who came first among equals; one
// announced in the future gains nothing by it.
func TestBacklogNewest(t *testing.T) {
	began := time.Unix(1_700_000_000, 0)
	for newest, want := range map[bool]string{false: "old new1 new2 future middle", true: "future new1 new2 middle old"} {
		b := backlog{newest: newest}
		for _, j := range []*job{
			waitingJob("h", "old", began.Add(-time.Hour), began), waitingJob("h", "new1", began.Add(-time.Second), began),
			waitingJob("h", "new2", began.Add(-time.Second), began), waitingJob("h", "future", began.AddDate(1, 0, 0), began),
			waitingJob("h", "middle", began.Add(-time.Minute), began),
		} {
			b.add(context.Background(), j)
		}
		gone := waitingJob("h", "gone", began, began)
		b.add(context.Background(), gone)
		if !b.withdraw(gone) || b.withdraw(gone) {
			t.Error("withdrawn not once")
		}
		var got []string
		for b.len() > 0 {
			got = append(got, b.next().j.a.Path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("newest %v: %q, want %q", newest, got, want)
		}
	}
	b := backlog{newest: true}
	b.add(context.Background(), waitingJob("h", "liar", began.AddDate(1, 0, 0), began))
	b.add(context.Background(), waitingJob("h", "later", began.Add(time.Second), began.Add(2*time.Second)))
	if first := b.next().j.a.Path; first != "later" {
		t.Errorf("%s came first", first)
	}
}

// Whatever comes in whatever order, jobs of one path are begun in the order they came, and a
// worker begins the newest of those of its host whose path is free.
func TestNewestKeepsPaths(t *testing.T) {
	base := time.Unix(1_700_000_000, 0)
	rapid.Check(t, func(t *rapid.T) {
		o, b := newOrder(), backlog{newest: true}
		var came []*job
		for i := range rapid.IntRange(1, 40).Draw(t, "n") {
			path := fmt.Sprint("/d/", rapid.IntRange(0, 5).Draw(t, "path"))
			j := waitingJob("h", path, base.Add(time.Duration(rapid.IntRange(0, 50).Draw(t, "time"))*time.Second), base.Add(time.Hour+time.Duration(i)))
			j.turn = &turn{run: func() { b.add(context.Background(), j) }}
			came = append(came, j)
			o.enter(j.turn, path)
		}
		last := map[string]int{}
		for range came {
			if b.len() == 0 {
				t.Fatal("some are never begun")
			}
			newest := slices.MaxFunc(b.heap, func(x, y task) int { return x.j.a.Time.Time().Compare(y.j.a.Time.Time()) })
			j := b.next().j
			if j.a.Time.Time().Before(newest.j.a.Time.Time()) {
				t.Fatalf("%s came before %s", j.a.Time, newest.j.a.Time)
			}
			i := slices.Index(came, j)
			if i < last[j.a.Path] {
				t.Fatalf("%s: number %d after %d", j.a.Path, i, last[j.a.Path])
			}
			last[j.a.Path] = i
			o.leave(j.turn)
		}
	})
}

// A flow with a backlog fetches the newest first, and two versions of one path as they came.
func TestFlowNewest(t *testing.T) {
	h := newHouse(t)
	began, gate := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var asked []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			close(began)
			<-gate
		}
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, strings.TrimPrefix(r.URL.Path, "/"))
		io.WriteString(w, "x")
	}))
	defer web.Close()
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out", "-instances", "1", "-order", "newest")
	version := func(from, as string, s int64) *post.Announcement {
		a := announced(web.URL+"/", from, "x", s)
		a.Headers["rename"] = as
		return a
	}
	h.post("xpublic", version("first", "first", 1_700_000_000))
	<-began
	h.post("xpublic", version("a", "a", 1_700_000_001), version("p1", "p", 1_700_000_002),
		version("c", "c", 1_700_000_003), version("p2", "p", 1_700_000_004), version("d", "d", 1_700_000_005))
	h.until("all wait, the second of p for the first", func() bool {
		f.pool.mu.Lock()
		defer f.pool.mu.Unlock()
		l := f.pool.lines[strings.TrimPrefix(web.URL, "http://")]
		n, _ := f.jobs.len()
		return n == 6 && l.jobs.len() == 4
	})
	close(gate)
	h.until("all are here", func() bool { return f.Counters.Fetched.Load()+f.Counters.Unchanged.Load() == 6 })
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(asked, " "); !strings.HasPrefix(got, "first d c p1") {
		t.Errorf("fetched in order %s", got)
	}
	if slices.Contains(asked, "p2") && slices.Index(asked, "p2") < slices.Index(asked, "p1") {
		t.Errorf("one path out of order: %q", asked)
	}
}

// sr_options(5), host_workers: one slow host never has more requests under way, and others
// are served meanwhile.
func TestHostWorkers(t *testing.T) {
	h := newHouse(t)
	gate := make(chan struct{})
	var mu sync.Mutex
	var now, most int
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		<-gate
		mu.Lock()
		now--
		mu.Unlock()
		io.WriteString(w, "x")
	}))
	defer slow.Close()
	files := map[string]string{}
	var all []*post.Announcement
	for i := range 20 {
		files[fmt.Sprint("/fast", i)] = "x"
		all = append(all, announced(slow.URL+"/", fmt.Sprint("slow", i), "x", 1_700_000_000))
	}
	fast := h.web(files)
	for i := range 20 {
		all = append(all, announced(fast.URL+"/", fmt.Sprint("fast", i), "x", 1_700_000_000))
	}
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out", "-instances", "8", "-host_workers", "2")
	h.post("xpublic", all...)
	h.until("the fast host is done", func() bool { return f.Counters.Fetched.Load() == 20 })
	h.until("the slow one has its share", func() bool { mu.Lock(); defer mu.Unlock(); return now == 2 })
	close(gate)
	h.until("all are here", func() bool { return f.Counters.Fetched.Load() == 40 })
	if most != 2 {
		t.Errorf("the slow host had %d workers", most)
	}
}
