package pump

import (
	"context"
	"errors"
	"testing"

	"srpump/pump/config"
)

// sr_options(5), reset: a start deletes what waits, a configuration that is read again does not.
func TestResetIsForTheStart(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/one": "1", "/two": "2", "/three": "3"})
	post := func(name, content string) { h.post("xpublic", announced(web.URL+"/", name, content, 1_700_000_000)) }
	args := []string{"-reset", "-directory", h.dir + "/in"}
	_, stop := h.run(config.Subscribe, args...)
	stop()
	post("one", "1")
	host := h.host()
	host.Resumes = true
	f, err := NewFlow(h.config(config.Subscribe, args...), host)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	h.until("what waited is here", func() bool { return f.Counters.Fetched.Load() == 1 })
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	post("two", "2")
	f, _ = h.run(config.Subscribe, args...)
	post("three", "3")
	h.until("what came after the reset is here", func() bool { return h.content("in/three") == "3" })
	if n := f.Counters.Received.Load(); n != 1 {
		t.Errorf("%d received after a reset", n)
	}
}

// The actions declare and setup make what is missing: a flow may be reading the queue.
func TestResetIsNotForActions(t *testing.T) {
	h := newHouse(t)
	ctx, cfg := context.Background(), h.config(config.Shovel, "-reset", "-exchange", "xin", "-post_exchange", "xout")
	if err := Setup(ctx, cfg, h.host()); err != nil {
		t.Fatal(err)
	}
	h.post("xin", numbered(0, 3)...)
	if err := errors.Join(Declare(ctx, cfg, h.host()), Setup(ctx, cfg, h.host())); err != nil {
		t.Fatal(err)
	}
	if n := h.depth("q_local.sr_shovel.default"); n != 3 {
		t.Errorf("%d wait, not 3", n)
	}
}
