package pump

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
)

// What a configuration reads with exchange_split and instances.
func TestShardsOf(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct {
		preset config.Preset
		args   string
		want   string
	}{
		{config.Subscribe, "-instances 3", "[xin]"},
		{config.Subscribe, "-instances 3 -exchange_split", "[xin00 xin01 xin02]"},
		{config.Subscribe, "-exchange_split", "[xin00]"},
		{config.Winnow, "", "[xin]"},
		{config.Winnow, "-instances 1", "[xin]"},
		{config.Winnow, "-instances 2", "[xin00 xin01]"},
		{config.Winnow, "-instances 2 -exchange_split off", "[xin]"},
		{config.Winnow, "-instances 2 -b -", "[xin]"},
	} {
		cfg := h.config(c.preset, append(strings.Fields(c.args), "-exchange", "xin", "-post_exchange", "xout")...)
		from, err := h.host().endpoint(cfg, "broker", false)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(boundExchanges(cfg, from)); got != c.want {
			t.Errorf("%s %s: %s, not %s", c.preset, c.args, got, c.want)
		}
	}
}

// depth is how much waits in a queue; -1 when there is none.
func (h *house) depth(queue string) int {
	h.t.Helper()
	n, err := h.conn().DeclareQueue(context.Background(), broker.Queue{Name: queue, Passive: true})
	if err != nil {
		return -1
	}
	return n
}

// numbered are announcements whose fingerprints fall into all shards.
func numbered(from, to int) (out []*post.Announcement) {
	for i := from; i < to; i++ {
		out = append(out, announced("http://h/", fmt.Sprintf("f%03d", i), fmt.Sprint("content ", i), 1700000000))
	}
	return out
}

// distinctPaths is how many paths were announced.
func distinctPaths(as []*post.Announcement) (n int) {
	var paths []string
	for _, a := range as {
		paths = append(paths, a.Path)
	}
	return len(distinct(paths))
}

// Every shard has a queue of its own, and all of them pass through one cache.
func TestExchangeSplit(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	f, stop := h.run(config.Winnow, "-exchange", "xin", "-instances", "4", "-post_exchange", "xout", "-queue_name", "q_mine", "-report_back", "off")
	_, stopFeed := h.run(config.Shovel, "-exchange", "xfeed", "-post_exchange", "xin", "-post_exchange_split", "4", "-report_back", "off")
	h.post("xfeed", numbered(0, 200)...)
	h.until("all passed", func() bool { return len(got()) == 200 })
	for shard := range 4 {
		h.post(fmt.Sprintf("xin%02d", shard), numbered(0, 200)...) // known, wherever it comes from
		name := fmt.Sprintf("q_mine_%02d", shard)
		if kept := h.content(fmt.Sprintf(".cache/sarra/winnow/default/sr_winnow.default.local_%02d.qname", shard)); kept != name {
			t.Errorf("queue %q is remembered as %q", name, kept)
		}
	}
	h.until("all that is known is dropped", func() bool { return f.Counters.Winnowed.Load() == 4*200 })
	stop()
	stopFeed()
	if n := len(got()); n != 200 {
		t.Errorf("%d passed", n)
	}
	for shard := range 4 {
		if n := h.depth(fmt.Sprintf("q_mine_%02d", shard)); n != 0 {
			t.Errorf("shard %d: %d left unacknowledged", shard, n)
		}
	}
}

// With another number of instances, what waits in the queues of the earlier one is read on, and
// nothing more gets into them.
func TestSplitChanges(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	args := func(more ...string) []string {
		return append(more, "-exchange", "xin", "-post_exchange", "xout", "-report_back", "off")
	}
	got := h.capture("xout")
	set := func(more ...string) {
		t.Helper()
		if err := Setup(ctx, h.config(config.Winnow, args(more...)...), h.host()); err != nil {
			t.Fatal(err)
		}
	}
	set("-instances", "3")
	h.post("xin02", numbered(0, 5)...)
	set("-instances", "2")
	h.post("xin02", numbered(5, 10)...)
	if n := h.depth("q_local.sr_winnow.default_02"); n != 5 {
		t.Errorf("%d wait in the queue of the third", n)
	}
	_, stop := h.run(config.Winnow, args()...)
	h.until("what was left has passed", func() bool { return len(got()) == 5 })
	stop()
	h.post("xin00", numbered(10, 15)...)
	if n := h.depth("q_local.sr_winnow.default_00"); n != 0 {
		t.Errorf("%d wait in a queue that is no longer asked for", n)
	}
	if err := h.conn().DeleteQueue(ctx, "q_local.sr_winnow.default_01"); err != nil {
		t.Fatal(err)
	}
	set("-instances", "1")
	left, _ := filepath.Glob(h.dir + "/.cache/sarra/winnow/default/*_01.*")
	if len(left) > 0 {
		t.Errorf("remembered though it is gone: %v", left)
	}
	if err := Cleanup(ctx, h.config(config.Winnow, args("-instances", "1")...), h.host()); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"", "_00", "_01", "_02"} {
		if n := h.depth("q_local.sr_winnow.default" + q); n >= 0 {
			t.Errorf("the queue %q is still there", q)
		}
	}
	if _, err := os.Stat(h.config(config.Winnow, args()...).State().Dir()); err == nil {
		t.Error("the state is still there")
	}
}

// Queues that v02 gave one name, in the files of several instances, are one: reset empties it once.
func TestSplitSharedName(t *testing.T) {
	h := newHouse(t)
	for shard := range 2 {
		h.write(fmt.Sprintf(".cache/sarra/winnow/default/sr_winnow.default.local_%02d.qname", shard), "q_one")
	}
	got := h.capture("xout")
	_, stop := h.run(config.Winnow, "-exchange", "xin", "-post_exchange", "xout", "-instances", "2", "-report_back", "off", "-reset")
	h.post("xin00", numbered(0, 3)...)
	h.post("xin01", numbered(3, 6)...)
	h.until("all passed", func() bool { return distinctPaths(got()) == 6 })
	stop()
}

// Each of several queues is told of its own deliveries, and what is given back is there again.
func TestSpread(t *testing.T) {
	h := newHouse(t)
	c, ctx := h.conn(), context.Background()
	var parts []broker.Consumer
	for _, q := range []string{"one", "two"} {
		if _, err := c.DeclareQueue(ctx, broker.Queue{Name: q}); err != nil {
			t.Fatal(err)
		}
		if err := c.DeclareExchange(ctx, broker.Exchange{Name: "x" + q}); err != nil {
			t.Fatal(err)
		}
		if err := c.Bind(ctx, broker.Binding{Queue: q, Exchange: "x" + q, Pattern: "#"}); err != nil {
			t.Fatal(err)
		}
		h.post("x"+q, numbered(0, 100)...)
		k, err := c.Consume(ctx, q, broker.ConsumeOptions{Prefetch: 200})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, k)
	}
	s := newSpread(parts)
	seen := make(map[string]int)
	var tags []broker.Tag
	for len(seen) < 2 || seen["xone"] < 100 || seen["xtwo"] < 100 {
		d, err := s.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(tags, d.Tag) {
			t.Fatalf("two deliveries are %v", d.Tag)
		}
		tags = append(tags, d.Tag)
		seen[d.Exchange]++
	}
	if err := s.Reject(true, tags[:10]...); err != nil {
		t.Error(err)
	}
	if err := s.Ack(tags[10:]...); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := h.depth("one") + h.depth("two"); n != 10 {
		t.Errorf("%d are left, not the 10 given back", n)
	}
}

// A queue nobody asks for any more may be deleted while it is read on; the flow goes on with the others.
func TestSplitLeftDeleted(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	args := []string{"-exchange", "xin", "-post_exchange", "xout", "-report_back", "off", "-instances"}
	got := h.capture("xout")
	if err := Setup(ctx, h.config(config.Winnow, append(args, "3")...), h.host()); err != nil {
		t.Fatal(err)
	}
	h.post("xin02", numbered(0, 5)...)
	_, stop := h.run(config.Winnow, append(args, "2")...)
	h.until("what was left has passed", func() bool { return len(got()) == 5 })
	if err := h.conn().DeleteQueue(ctx, "q_local.sr_winnow.default_02"); err != nil {
		t.Fatal(err)
	}
	h.post("xin00", numbered(5, 10)...)
	h.until("the others go on", func() bool { return len(got()) == 10 })
	stop()
}
