package test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"srpump/pump/retry"
)

// A sickServer answers 503 until it is well; below bad/ it stays sick, and below gone/ there is nothing
// before.
func sickServer(t *testing.T, dir string) (url string, well *atomic.Bool) {
	well = new(atomic.Bool)
	files := http.FileServer(http.Dir(dir))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/bad/"), !well.Load() && !strings.Contains(r.URL.Path, "/gone/"):
			http.Error(w, "sick", http.StatusServiceUnavailable)
		case !well.Load():
			http.NotFound(w, r)
		default:
			files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, well
}

// Orders about the retry queue of a flow that is killed again and again, at any point: none is forgotten,
// nothing is lost, nothing is there twice, and what was dropped does not come back.
func TestKillRetryOrders(t *testing.T) {
	t.Parallel() // it waits more than it works
	onBothBrokers(t, func(t *testing.T, url string) {
		h, n := newHost(t), scale(20, 200)
		for _, dir := range []string{"keep", "gone", "bad"} {
			for i := range n {
				h.write(fmt.Sprintf("src/%s/%d", dir, i), fmt.Sprint(dir, i))
			}
		}
		in := fresh("xs_guest")
		captureFrom(t, connect(t, url), in)
		base, well := sickServer(t, h.path("src"))
		h.write("home/.config/sarra/subscribe/x.conf", fmt.Sprintf("broker %s\nexchange %s\nqueue_name %s\nmirror\ndirectory %s\nretry_permanent 1\naccept .*\n",
			url, in, fresh("q_guest"), h.path("dst")))
		state := h.path("home/.cache/sarra/subscribe/x")
		start := func() *running {
			r := h.start("sr_subscribe", "foreground", "x")
			r.await("consuming")
			return r
		}
		start().kill()
		h.run(0, "", "sr_post", "-pb", url, "-post_exchange", in, "-pbu", base, "-pbd", h.path("src"), "-p", h.path("src"))
		r := start()
		listed := func() (n int) {
			list, err := retry.List(state)
			must(t, err)
			return len(list)
		}
		waitFor(t, "all have failed", func() bool { return listed() == 3*n }, r.text)
		orders := [][]string{{"retry", retry.Requeue, "x"}, {"retry", retry.Drop, "x", "bad"}, {"retry", retry.Requeue, "x", "keep", "gone"}}
		for k := range scale(8, 100) {
			order := h.start("sr_subscribe", orders[k%len(orders)]...)
			given := func() bool { left, _ := filepath.Glob(filepath.Join(state, "retry.orders", "*")); return len(left) > 0 }
			waitFor(t, "the order is given", func() bool { return given() || order.over() }, order.text)
			for range rand.IntN(1 << (2 * k % 12)) {
				given() // a system call or two later
			}
			r.kill()
			waitFor(t, "the order is carried out without the flow", order.over, order.text)
			nothing := k%len(orders) == 1 && k > 1 && strings.Contains(order.text(), "nothing matches") // it has been dropped before
			if code := order.cmd.ProcessState.ExitCode(); code != 0 && !nothing {
				t.Fatalf("exit status %d: %s", code, order.text())
			}
			if given() {
				t.Error("an order was left")
			}
			once(t, h, n)
			r = start()
		}
		well.Store(true)
		h.run(0, "", "sr_subscribe", "retry", "requeue", "x")
		waitFor(t, "what was not dropped arrives", func() bool { return len(present(t, h.path("dst"))) == 2*n }, r.text)
		waitFor(t, "nothing waits any more", func() bool { return listed() == 0 }, r.text)
		r.stop()
	})
}

// once fails for what is listed twice, and for what is not listed though nobody dropped it.
func once(t *testing.T, h *host, n int) {
	t.Helper()
	out, _ := h.run(0, "", "sr_subscribe", "retry", "list", "x", "-json")
	seen := make(map[string]int)
	for line := range strings.Lines(out) {
		var l retry.Listed
		must(t, json.Unmarshal([]byte(line), &l))
		seen[l.Path]++
	}
	for path, times := range seen {
		if times > 1 {
			t.Errorf("%s is there %d times", path, times)
		}
	}
	for i := range n {
		for _, dir := range []string{"keep", "gone"} {
			if path := fmt.Sprintf("%s/%d", dir, i); seen[path] == 0 && seen["/"+path] == 0 {
				t.Errorf("%s is lost", path)
			}
		}
	}
}
