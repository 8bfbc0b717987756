package pump

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/config"
	"srpump/pump/fetch"
)

// settled waits until nothing is on its way.
func (h *house) settled(f *Flow, received int64) {
	h.t.Helper()
	h.until("all are done", func() bool {
		n, _ := f.jobs.len()
		return n == 0 && f.Counters.Received.Load() >= received
	})
}

// Blocks of one file are fetched at the same time: the server answers the first only when another was asked for.
func TestBlocksTogether(t *testing.T) {
	h := newHouse(t)
	content := noise(2000, 4)
	both := make(chan struct{})
	var asked sync.Map
	var once sync.Once
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Header.Get("Range"), true)
		n := 0
		asked.Range(func(any, any) bool { n++; return true })
		if n == 2 {
			once.Do(func() { close(both) })
		}
		select {
		case <-both:
		case <-r.Context().Done():
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	defer web.Close()
	h.run(config.Subscribe, "-directory", h.dir+"/out", "-instances", "2", "-host_workers", "2")
	h.post("xpublic", cutUp(web.URL+"/", "x", content, 1000, 1700000000)...)
	h.until("the file is here", func() bool { return h.content("out/x") == string(content) })
}

// sr_subscribe(1), BLOCKS: only what changed is fetched.
func TestChangedBlocks(t *testing.T) {
	const size, block = 100_000, 1000
	first := noise(size, 5)
	middle := bytes.Clone(first)
	middle[50_500]++
	appended := append(bytes.Clone(first), noise(300, 6)...)
	for name, c := range map[string]struct {
		now  []byte
		most int64
	}{
		"a byte in the middle": {middle, block},
		"append":               {appended, block},
		"truncate":             {first[:99_500], block},
		"nothing":              {first, 0},
		"all":                  {noise(size, 7), size},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			web := h.blockServer(map[string][]byte{"/x": c.now})
			if err := os.MkdirAll(h.dir+"/out", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(h.dir+"/out/x", first, 0o640); err != nil {
				t.Fatal(err)
			}
			got := h.capture("xcopy")
			f, _ := h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/out", "-post_broker", "sqlite://"+h.db, "-post_exchange", "xcopy", "-post_base_url", "http://me/")
			as := cutUp(web.URL+"/", "x", c.now, block, 1700000000)
			h.post("xin", as...)
			h.settled(f, int64(len(as)))
			if h.content("out/x") != string(c.now) {
				t.Error("other bytes")
			}
			if n := web.bytes.Load(); n > c.most {
				t.Errorf("%d bytes fetched, %d changed", n, c.most)
			}
			if left := h.leftOver("out", "x"); len(left) > 0 {
				t.Errorf("left %v", left)
			}
			want := len(as) * min(1, int(c.most))
			h.until("all are announced", func() bool { return len(got()) >= want })
			if len(got()) != want {
				t.Errorf("%d announced, want %d", len(got()), want)
			}
			fi, err := os.Stat(h.dir + "/out/x")
			if err != nil || fi.ModTime().Unix() != 1699999900 {
				t.Errorf("%v %v", fi, err)
			}
		})
	}
}

// A newer version takes the place of an incomplete older one, whose late blocks are superseded; so do a
// removal and the whole file. What is older than what is on its way does not end it.
func TestBlockVersions(t *testing.T) {
	one, two := noise(3000, 8), noise(3500, 9)
	start := func(t *testing.T) (*house, *Flow, []*post.Announcement, []*post.Announcement, string) {
		h := newHouse(t)
		web := h.blockServer(map[string][]byte{"/1/x": one, "/2/x": two})
		f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out")
		as, bs := cutUp(web.URL+"/1/", "x", one, 1000, 1700000000), cutUp(web.URL+"/2/", "x", two, 1000, 1700000050)
		h.post("xpublic", as[:2]...)
		h.settled(f, 2)
		if _, err := os.Stat(h.dir + "/out/x"); err == nil {
			t.Fatal("it has its name before it is complete")
		}
		return h, f, as, bs, web.URL
	}
	t.Run("newer", func(t *testing.T) {
		h, f, as, bs, _ := start(t)
		h.post("xpublic", bs[3])
		h.settled(f, 3)
		h.post("xpublic", as[2], bs[0], bs[1], bs[2])
		h.until("the newer is here", func() bool { return h.content("out/x") == string(two) })
		h.settled(f, 7)
		if f.Counters.Superseded.Load() != 1 || len(h.leftOver("out", "x")) > 0 {
			t.Errorf("%d superseded, left %v", f.Counters.Superseded.Load(), h.leftOver("out", "x"))
		}
		h.post("xpublic", as...)
		h.settled(f, 10)
		if h.content("out/x") != string(two) || f.Counters.Superseded.Load() != 4 || len(h.leftOver("out", "x")) > 0 {
			t.Errorf("%d superseded, left %v", f.Counters.Superseded.Load(), h.leftOver("out", "x"))
		}
	})
	t.Run("whole", func(t *testing.T) {
		h, f, as, _, url := start(t)
		h.post("xpublic", announced(url+"/2/", "x", string(two), 1700000050))
		h.settled(f, 3)
		h.post("xpublic", as[2])
		h.settled(f, 4)
		if h.content("out/x") != string(two) || f.Counters.Superseded.Load() != 1 || len(h.leftOver("out", "x")) > 0 {
			t.Errorf("%d superseded, left %v", f.Counters.Superseded.Load(), h.leftOver("out", "x"))
		}
	})
	t.Run("older whole", func(t *testing.T) {
		h, f, as, _, url := start(t)
		h.post("xpublic", announced(url+"/2/", "x", string(two), 1600000000))
		h.settled(f, 3)
		if h.content("out/x") != string(two) {
			t.Error("what was older than nothing is not here")
		}
		h.post("xpublic", as[2])
		h.until("the newer is here", func() bool { return h.content("out/x") == string(one) })
	})
	t.Run("removed", func(t *testing.T) {
		h, f, as, _, url := start(t)
		gone := announced(url+"/1/", "x", "", 1700000060)
		gone.Sum, gone.Block = post.OfRemoval("x"), partition.Block{}
		h.post("xpublic", gone)
		h.settled(f, 3)
		h.post("xpublic", as[2])
		h.settled(f, 4)
		if left := h.leftOver("out"); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	})
	t.Run("other totals, same time", func(t *testing.T) {
		h, f, as, _, url := start(t)
		others := cutUp(url+"/1/", "x", one, 700, 1700000000)
		h.post("xpublic", others...)
		h.settled(f, 7)
		h.post("xpublic", as[2])
		h.until("it is here", func() bool { return h.content("out/x") == string(one) })
		h.until("the others find it", func() bool { return f.retries.Len() == 0 })
		if h.content("out/x") != string(one) || len(h.leftOver("out", "x")) > 0 {
			t.Errorf("left %v", h.leftOver("out", "x"))
		}
	})
}

// A block whose bytes are not those announced is tried again, and never written down; of two sums for one
// block the one announced later counts, of the same time the first.
func TestBlockMismatch(t *testing.T) {
	h := newHouse(t)
	content := noise(3000, 10)
	wrong := bytes.Clone(content)
	wrong[1500]++
	web := h.blockServer(map[string][]byte{"/x": wrong})
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out")
	as := cutUp(web.URL+"/", "x", content, 1000, 1700000000)
	h.post("xpublic", as...)
	h.until("one is tried again", func() bool { return f.Counters.Retried.Load() == 1 && f.Counters.Blocks.Load() == 2 })
	if _, err := os.Stat(h.dir + "/out/x"); err == nil {
		t.Fatal("a wrong byte has a name")
	}
	first := cutUp(web.URL+"/", "x", wrong, 1000, 1700000000)[1]
	first.Headers["mtime"] = as[0].Headers["mtime"]
	h.post("xpublic", first)
	h.until("it is wrong for both", func() bool { return h.content("out/x") == string(wrong) })
	web.put("/x", content)
	later := as[1].Clone()
	later.Time = post.At(time.Unix(1700000001, 0))
	h.post("xpublic", later)
	h.until("it waits for its others", func() bool { return len(h.leftOver("out", "x")) == 1 })
	for _, a := range as {
		a.Time = later.Time
	}
	h.post("xpublic", as...)
	h.until("the later counts", func() bool { return h.content("out/x") == string(content) })
}

// A later sum for a block that is here, while others are missing.
func TestBlockChangesMeanwhile(t *testing.T) {
	h := newHouse(t)
	one := noise(2000, 11)
	two := bytes.Clone(one)
	two[10]++
	web := h.blockServer(map[string][]byte{"/x": one})
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out")
	as, bs := cutUp(web.URL+"/", "x", one, 1000, 1700000000), cutUp(web.URL+"/", "x", two, 1000, 1700000000)
	h.post("xpublic", as[0])
	h.settled(f, 1)
	h.post("xpublic", bs[0]) // of the same time: the first one stays
	h.until("it is a mismatch", func() bool { return f.Counters.Retried.Load() == 1 })
	web.put("/x", two)
	bs[0].Time = post.At(time.Unix(1700000001, 0))
	h.post("xpublic", bs[0])
	h.until("it was replaced", func() bool { return f.Counters.Blocks.Load() == 2 })
	h.post("xpublic", as[1])
	h.until("the later counts", func() bool { return h.content("out/x") == string(two) })
}

// A disk that fails while a block is written down, or the whole file ended, has failed that block: the file
// is opened anew, and goes on.
func TestBlocksAfterFailure(t *testing.T) {
	h := newHouse(t)
	content := noise(3000, 15)
	web := h.blockServer(map[string][]byte{"/x": content})
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out")
	as := cutUp(web.URL+"/", "x", content, 1000, 1700000000)
	h.post("xpublic", as[0])
	h.settled(f, 1)
	full := h.dir + "/out/x"
	a := f.assemblies.enter(full)
	if err := a.log().Close(); err != nil { // which fails every write from now on
		t.Fatal(err)
	}
	f.assemblies.leave(a)
	h.post("xpublic", as[1])
	h.settled(f, 2)
	if f.Counters.Retried.Load() != 1 {
		t.Fatalf("%d tried again", f.Counters.Retried.Load())
	}
	h.post("xpublic", as[1])
	h.until("it goes on", func() bool { return f.Counters.Blocks.Load() == 2 })
	journals, err := filepath.Glob(filepath.Join(f.state, "blocks", "*.journal"))
	if err != nil || len(journals) != 1 {
		t.Fatalf("%v %v", journals, err)
	}
	inTheWay := strings.TrimSuffix(journals[0], ".journal") + ".done"
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	h.post("xpublic", as[2])
	h.until("it cannot be ended", func() bool { return strings.Contains(h.log.String(), "cannot end journal") })
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	h.post("xpublic", as[2])
	h.until("it is ended", func() bool { return len(f.assemblies.store.Unfinished()) == 0 })
	h.until("all are done", func() bool { n, _ := f.jobs.len(); return n == 0 })
	if h.content("out/x") != string(content) {
		t.Error("other bytes")
	}
}

// Announcements that describe no file that could be are given up, and nothing is made of them.
func TestBlocksThatCannotBe(t *testing.T) {
	h := newHouse(t)
	web := h.blockServer(map[string][]byte{"/x": noise(3000, 12)})
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out", "-retry_permanent", "1", "-attempts", "1")
	as := cutUp(web.URL+"/", "x", noise(3000, 12), 1000, 1700000000)
	many, beyond, parts := as[0].Clone(), as[1].Clone(), as[0].Clone()
	many.Block.Size, many.Block.Count = 1, 1_000_000_000
	beyond.Block.Number, beyond.Block.Count, beyond.Headers["mtime"] = 7, 9, "20200101000000.0"
	parts.Path, parts.Block.Method = "x.1000.3.0.7.d.Part", partition.Parted
	h.post("xpublic", many, beyond, parts)
	h.settled(f, 3)
	if n := f.Counters.GivenUp.Load(); n != 3 {
		t.Errorf("%d given up", n)
	}
	if left := h.leftOver("out"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if !strings.Contains(h.log.String(), "too many blocks: 1000000000") {
		t.Error("it is not said why")
	}
}

// A run that ended between any two steps is taken up by the next one: the journal says what is here, also when all
// of it is and nobody announces the last block again. What lost its temporary file is fetched again.
func TestBlocksAfterRestart(t *testing.T) {
	h := newHouse(t)
	content := noise(3000, 13)
	web := h.blockServer(map[string][]byte{"/x": content})
	got := h.capture("xcopy")
	args := []string{"-exchange", "xin", "-directory", h.dir + "/out", "-post_broker", "sqlite://" + h.db, "-post_exchange", "xcopy", "-post_base_url", "http://me/", "-suppress_duplicates", "on"}
	as := cutUp(web.URL+"/", "x", content, 1000, 1700000000)
	f, stop := h.run(config.Subscribe, args...)
	h.post("xin", as[:2]...)
	h.settled(f, 2)
	stop()
	f, stop = h.run(config.Subscribe, args...)
	h.post("xin", as[1], as[2])
	h.until("all are announced", func() bool { return len(got()) == 3 })
	h.settled(f, 2)
	stop()
	if n := web.asked.Load(); n != 3 || h.content("out/x") != string(content) {
		t.Errorf("asked %d times", n)
	}
	t.Run("lost", func(t *testing.T) {
		as := cutUp(web.URL+"/", "x", content, 1000, 1700000100)
		if err := os.Remove(h.dir + "/out/x"); err != nil {
			t.Fatal(err)
		}
		f, stop := h.run(config.Subscribe, args...)
		h.post("xin", as[:2]...)
		h.settled(f, 2)
		stop()
		for _, name := range h.leftOver("out") {
			if err := os.Remove(h.dir + "/out/" + name); err != nil {
				t.Fatal(err)
			}
		}
		_, stop = h.run(config.Subscribe, args...)
		h.post("xin", as[2])
		h.until("it is here", func() bool { return h.content("out/x") == string(content) })
		stop()
	})
	t.Run("complete", func(t *testing.T) { // killed before its file had its name, and nothing comes
		as := cutUp(web.URL+"/", "y", content, 1000, 1700000000)
		web.put("/y", content)
		f, stop := h.run(config.Subscribe, args...)
		h.post("xin", as[:2]...)
		h.settled(f, 2)
		f.completeUnseen(t, as[2])
		stop()
		_, stop = h.run(config.Subscribe, args...)
		h.until("it is finished", func() bool { return h.content("out/y") == string(content) && len(got()) >= 9 })
		stop()
	})
}

// completeUnseen writes the last block of a file as a run does that is killed right behind it.
func (f *Flow) completeUnseen(t *testing.T, a *post.Announcement) {
	t.Helper()
	j := &job{a: a, came: a}
	f.jobs.add(j)
	var err error
	if j.choice, err = f.rules.Choose(a); err == nil {
		err = f.locate(j)
	}
	if err != nil {
		t.Fatal(err)
	}
	var tree *fetch.Tree
	if f.plan.there == nil {
		tree, err = f.tree(j.at.Root)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := f.assemblies.enter(j.at.Full())
	defer f.assemblies.leave(s)
	log := f.join(context.Background(), j, s, tree)
	if log == nil {
		t.Fatal("not joined")
	}
	r, err := f.bring(context.Background(), j, s, log, tree)
	if err == nil {
		_, err = log.Add(r, s.sync)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.jobs.end(j)
}

// A file of which no block comes for long is given up: nothing stays of it.
func TestBlocksMissing(t *testing.T) {
	h := newHouse(t)
	content := noise(3000, 14)
	web := h.blockServer(map[string][]byte{"/x": content})
	f, stop := h.run(config.Subscribe, "-directory", h.dir+"/out")
	h.post("xpublic", cutUp(web.URL+"/", "x", content, 1000, 1700000000)[:2]...)
	h.settled(f, 2)
	f.expireBlocks(time.Now().Add(-time.Hour))
	if len(h.leftOver("out")) != 1 {
		t.Error("given up too early")
	}
	f.expireBlocks(time.Now().Add(time.Hour))
	if left := h.leftOver("out"); len(left) > 0 || f.Counters.Incomplete.Load() != 1 || len(f.assemblies.store.Unfinished()) > 0 {
		t.Errorf("left %v, %d given up", left, f.Counters.Incomplete.Load())
	}
	stop()
}

// What all blocks were taken from counts as the file only while it stands there as it was.
func TestBlocksOfWhatIsReplaced(t *testing.T) {
	h := newHouse(t)
	content := noise(3000, 15)
	web := h.blockServer(map[string][]byte{"/x": content})
	h.write("out/x", string(content))
	f, stop := h.run(config.Subscribe, "-directory", h.dir+"/out")
	as := cutUp(web.URL+"/", "x", content, 1000, 1700000000)
	h.post("xpublic", as[:2]...)
	h.settled(f, 2)
	stop()
	other := bytes.Clone(content)
	other[10]++ // in a block that was taken before
	h.write("out/x", string(other))
	f, _ = h.run(config.Subscribe, "-directory", h.dir+"/out")
	h.post("xpublic", as[2])
	h.settled(f, 1)
	if h.content("out/x") != string(content) || web.asked.Load() != 0 {
		t.Errorf("other bytes, asked %d times", web.asked.Load())
	}
}

// Where the announced URL is not the file but its beginning, nothing stays at the place the first guess led to.
func TestBlocksOfSecondURL(t *testing.T) {
	h := newHouse(t)
	content := noise(3000, 16)
	web := h.blockServer(map[string][]byte{"/d/x": content})
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out", "-mirror")
	as := cutUp(web.URL+"/d", "x", content, 1000, 1700000000)
	h.post("xpublic", as...)
	h.settled(f, 3)
	if left := h.leftOver("out", "x"); h.content("out/x") != string(content) || len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
