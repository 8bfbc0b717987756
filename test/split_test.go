package test

import (
	"fmt"
	"testing"

	"srpump/post"
	"srpump/pump/broker"
)

// What posters spread over the exchanges of a split is read by one process from as many queues: nothing is lost
// when that is killed, nothing passes twice when it is not, and cleanup takes all queues away.
func TestExchangeSplit(t *testing.T) {
	const shards = 4
	onBothBrokers(t, func(t *testing.T, url string) {
		n := scale(200, 3000)
		h, conn := newHost(t), connect(t, url)
		in, out, queue := fresh("xs_guest"), fresh("xs_guest"), fresh("q_guest_split")
		got := captureFrom(t, conn, out)
		h.write("home/.config/sarra/winnow/split.conf", fmt.Sprintf("broker %s\nexchange %s\npost_exchange %s\nqueue_name %s\ninstances %d\n", url, in, out, queue, shards))
		for i := range shards {
			must(t, conn.DeclareExchange(t.Context(), broker.Exchange{Name: post.ShardName(in, i)}))
		}
		for i := range n {
			h.write(fmt.Sprintf("src/a/f%04d", i), fmt.Sprint("a ", i))
			h.write(fmt.Sprintf("src/b/f%04d", i), fmt.Sprint("b ", i))
		}
		announce := func(dir string) *running {
			return h.start("sr_post", "-pb", url, "-px", in, "-pxs", fmt.Sprint(shards), "-pbu", "http://h/", "-pbd", h.path("src"), "-p", h.path("src", dir))
		}
		s := h.start("sr_winnow", "foreground", "split")
		s.await("consuming.*_03")
		waitFor(t, "two sources have announced", both(announce("a"), announce("a")))
		waitFor(t, "each has passed", func() bool { return got.different() == n && drained(t, conn, queue, shards) }, s.text)
		if got.total() != n {
			t.Errorf("%d passed, of %d", got.total(), n)
		}
		one, two := announce("b"), announce("b")
		waitFor(t, "some have passed", func() bool { return got.different() > n+n/10 }, s.text)
		s.kill()
		waitFor(t, "two sources have announced", both(one, two))
		s = h.start("sr_winnow", "foreground", "split")
		waitFor(t, "all have passed", func() bool { return got.different() == 2*n && drained(t, conn, queue, shards) }, s.text)
		// What was delivered and not yet begun goes back into its queue at a stop: the next run has it.
		waitFor(t, "none is left unacknowledged", func() bool {
			s.stop()
			if drained(t, conn, queue, shards) {
				return true
			}
			s = h.start("sr_winnow", "foreground", "split")
			waitFor(t, "what was given back is taken", func() bool { return drained(t, conn, queue, shards) }, s.text)
			return false
		}, s.text)
		h.run(0, "", "sr_winnow", "cleanup", "split")
		for i := range shards {
			if _, err := conn.DeclareQueue(t.Context(), broker.Queue{Name: fmt.Sprintf("%s_%02d", queue, i), Passive: true}); err == nil {
				t.Errorf("the queue of shard %d is still there", i)
			}
		}
	})
}

func both(one, two *running) func() bool {
	return func() bool { return one.over() && two.over() }
}

// drained reports whether nothing waits in the queues of a split.
func drained(t *testing.T, c broker.Conn, queue string, shards int) bool {
	for i := range shards {
		ready, err := c.DeclareQueue(t.Context(), broker.Queue{Name: fmt.Sprintf("%s_%02d", queue, i), Passive: true})
		must(t, err)
		if ready > 0 {
			return false
		}
	}
	return true
}

// total is how often anything was announced.
func (k *capture) total() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.got)
}
