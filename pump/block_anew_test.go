package pump

import (
	"bytes"
	"context"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
	"srpump/pump/fetch"
)

// twoStates is a file, and what it became within the second its time of modification has: blocks 1 and 2 differ.
func twoStates(base string) (one, two []byte, as, bs []*post.Announcement) {
	one = noise(3000, 21)
	two = bytes.Clone(one)
	two[1500]++
	two[2500]++
	as, bs = cutUp(base, "x", one, 1000, 1700000000), cutUp(base, "x", two, 1000, 1700000001)
	for i, b := range bs {
		b.Headers["mtime"] = as[i].Headers["mtime"]
	}
	return one, two, as, bs
}

// sr_subscribe(1), BLOCKS: of two blocks with different checksums the later one counts, also when the file was put
// together of both states meanwhile, and when the later one cannot be fetched at first.
func TestBlocksOfTwoStates(t *testing.T) {
	h := newHouse(t)
	web := h.blockServer(map[string][]byte{})
	one, two, as, bs := twoStates(web.URL + "/")
	f, _ := h.run(config.Subscribe, "-directory", h.dir+"/out", "-attempts", "1")
	web.put("/x", one)
	h.post("xpublic", as[1], as[2])
	h.settled(f, 2)
	web.put("/x", two)
	h.post("xpublic", bs[0])
	h.until("the older state is here", func() bool { return h.content("out/x") == string(one) })
	h.settled(f, 3)
	web.put("/x", two[:1])
	h.post("xpublic", bs[1])
	h.until("it cannot be fetched", func() bool { return f.Counters.Retried.Load() > 0 })
	h.settled(f, 4)
	web.put("/x", two)
	h.post("xpublic", bs[1])
	h.until("the one is here", func() bool { return h.content("out/x")[:2000] == string(two[:2000]) })
	h.post("xpublic", bs[2])
	h.until("both are here", func() bool { return h.content("out/x") == string(two) })
	h.until("nothing is on its way", func() bool {
		n, _ := f.jobs.len()
		return n == 0 && f.retries.Len() == 0 && len(f.assemblies.store.Unfinished()) == 0
	})
	h.post("xpublic", as[1])
	h.settled(f, 7)
	if left := h.leftOver("out", "x"); h.content("out/x") != string(two) || len(left) > 0 {
		t.Errorf("other bytes after an older block, left %v", left)
	}
}

// A file whose blocks no broker takes is not done: a later block of it is not acknowledged for nothing.
func TestBlocksUnannounceable(t *testing.T) {
	h := newHouse(t)
	content := noise(3000, 22)
	web := h.blockServer(map[string][]byte{"/x": content})
	got := h.capture("xcopy")
	f, _ := h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/out", "-post_broker", "sqlite://"+h.db, "-post_exchange", "xcopy", "-post_base_url", "http://me/")
	as := cutUp(web.URL+"/", "x", content, 1000, 1700000000)
	h.post("xin", as[:2]...)
	h.settled(f, 2)
	f.completeUnseen(t, as[2])
	a := f.assemblies.enter(h.dir + "/out/x")
	if !a.begins() {
		t.Fatal("it is not complete")
	}
	j := &job{a: as[2], came: as[2], began: time.Now()}
	f.jobs.add(j)
	f.announcedAll(context.Background(), j, a, &broker.Error{Op: "publish", Object: "xcopy", Kind: broker.ErrMessage})
	h.until("it is given up", func() bool { return f.Counters.GivenUp.Load() == 1 })
	h.post("xin", as[1])
	h.until("all are announced", func() bool { return len(got()) == 3 })
	if h.content("out/x") != string(content) {
		t.Error("other bytes")
	}
}

// Of a file that is in place nothing is missing: once nobody has asked for its announcements long enough, only its
// journal ends.
func TestBlocksUnannounceableExpire(t *testing.T) {
	h := newHouse(t)
	content := noise(3000, 23)
	web := h.blockServer(map[string][]byte{"/x": content})
	f, _ := h.run(config.Subscribe, "-exchange", "xin", "-directory", h.dir+"/out")
	as := cutUp(web.URL+"/", "x", content, 1000, 1700000000)
	h.post("xin", as[:2]...)
	h.settled(f, 2)
	f.completeUnseen(t, as[2])
	tree, err := f.tree(h.dir + "/out")
	if err != nil {
		t.Fatal(err)
	}
	a := f.assemblies.enter(h.dir + "/out/x")
	s, err := a.take().Complete(fetch.Job{Tree: tree, Path: "x"}, 3000)
	if err != nil {
		t.Fatal(err)
	}
	placed := make(chan error, 1)
	f.install.Install(s, func(err error) { placed <- err })
	if err := <-placed; err != nil {
		t.Fatal(err)
	}
	a.setInstalled()
	f.assemblies.leave(a)
	f.expireBlocks(time.Now().Add(time.Hour))
	if h.content("out/x") != string(content) || len(f.assemblies.store.Unfinished()) > 0 || f.Counters.Incomplete.Load() != 0 {
		t.Errorf("%d given up, unfinished: %v", f.Counters.Incomplete.Load(), f.assemblies.store.Unfinished())
	}
}
