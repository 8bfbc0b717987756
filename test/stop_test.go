package test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"srpump/test/cutproxy"
	"srpump/test/rabbit"
)

// stopLimit is what a stop may take (issue: 5 s), and what a loaded machine adds to it.
const stopLimit = 15 * time.Second

// endsSoon sends SIGTERM and waits for the end.
func endsSoon(t testing.TB, r *running) {
	t.Helper()
	must(t, r.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-r.ended:
	case <-time.After(stopLimit):
		t.Fatalf("%s still runs %v after SIGTERM\n%s", r.name, stopLimit, r.text())
	}
}

// A stop does not wait for sources that stall, and what was under way is done at the next start.
func TestStopWhileStalled(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h, s := newHost(t), newHostileServer(t)
		r := newReceiver(t, h, url)
		for i := range 40 {
			r.send(t, fmt.Sprintf("20261121000000.5 %s/ stall \n", s.URL), hello("rename", fmt.Sprintf("stalled%d", i)))
		}
		for i := range 40 {
			r.send(t, fmt.Sprintf("20261121000000.5 %s/ file%d \n", s.URL, i), hello())
		}
		waitFor(t, "a stalled fetch", func() bool { return s.hanging() > 0 }, r.text)
		endsSoon(t, r.running)
		for i := range 40 {
			if _, err := os.Stat(h.path("dst", fmt.Sprintf("stalled%d", i))); err == nil {
				t.Errorf("stalled%d is there under its final name", i)
			}
		}
		s.mu.Lock()
		s.healed = true
		s.mu.Unlock()
		again := h.start("sr_subscribe", r.cmd.Args[1:]...)
		waitFor(t, "everything", func() bool {
			for i := range 40 {
				for _, f := range []string{"file%d", "stalled%d"} {
					if _, err := os.Stat(h.path("dst", fmt.Sprintf(f, i))); err != nil {
						return false
					}
				}
			}
			return true
		}, again.text)
		again.stop()
	})
}

// A stop does not wait for a broker that is gone or silent.
func TestStopWithoutBroker(t *testing.T) {
	node := rabbit.Start(t)
	for _, how := range []string{"refused", "silent"} {
		t.Run(how, func(t *testing.T) {
			proxy := cutproxy.New(t, node.Addr())
			h, url := newHost(t), node.URLAt(proxy.Addr(), "guest")
			r := h.start("sr_sarra", "-b", url, "-exchange", fresh("xpublic"), "-bind_queue", "off", "-pb", url, "-px", fresh("xs_guest"), "-queue_name", fresh("q_guest"),
				"-directory", h.path("dst"), "-pbd", h.path("dst"), "-pbu", "http://copy/")
			r.await("consuming")
			if how == "silent" {
				proxy.Stall()
			} else {
				proxy.Refuse(true)
				proxy.Cut()
				r.await("lost broker")
			}
			endsSoon(t, r)
		})
	}
	t.Run("never there", func(t *testing.T) {
		h := newHost(t)
		r := h.start("sr_subscribe", "-b", "amqp://guest:guest@127.0.0.1:1/")
		r.await("127.0.0.1:1")
		endsSoon(t, r)
	})
}

// Two processes with one queue share the work: each file is fetched, by one of them or, at worst, both.
func TestTwoShareAQueue(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		src, files := newHost(t), newCorpus(400)
		files.write(t, src.path("src"))
		in, queue := fresh("xs_guest"), fresh("q_guest")
		captureFrom(t, connect(t, url), in)
		a, b := newHost(t), newHost(t)
		args := []string{"-b", url, "-exchange", in, "-queue_name", queue, "-prefetch", "10", "-mirror", "-directory", src.path("dst")}
		first, second := a.start("sr_subscribe", args...), b.start("sr_subscribe", args...)
		first.await("consuming")
		second.await("consuming")
		src.run(0, "", "sr_post", "-pb", url, "-post_exchange", in, "-pbu", serveDir(t, src.path("src")), "-pbd", src.path("src"), "-p", src.path("src"))
		waitFor(t, "all files", func() bool { return files.arrived(t, src.path("dst")) == len(files) }, first.text, second.text)
		if !first.says("fetched path") || !second.says("fetched path") {
			t.Error("one of them did all the work")
		}
		first.stop()
		second.stop()
		files.onlyIn(t, src.path("dst"))
	})
}
