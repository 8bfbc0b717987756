package pump

import (
	"errors"
	"testing"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
)

// sr_shovel(1): each announcement goes to the exchange it came through, as it was but for
// its prefix; what a broker would take for its own is left out.
func TestShovelKeepsExchange(t *testing.T) {
	h := newHouse(t)
	there := newHouse(t)
	one, two := there.capture("x1"), there.capture("x2")
	f, stop := h.run(config.Shovel, "-exchange", "x1", "-subtopic", "a.#", "-exchange", "x2", "-subtopic", "#", "-pb", "sqlite://"+there.db,
		"-post_topic_prefix", "v02.post.far")
	a, b := announced("http://h/", "a/one", "1", 1700000000), announced("http://h/", "b/two", "2", 1700000001)
	a.Headers = map[string]any{"x_unknown": "keep", "CC": "evil", "source": "SRC"}
	h.post("x1", a, b) // b is not bound
	h.post("x2", b)
	h.until("both are moved", func() bool { return len(one()) == 1 && len(two()) == 1 })
	stop()
	if n := f.Counters.Received.Load(); n != 2 {
		t.Errorf("received %d", n)
	}
	got := one()[0]
	if got.Topic != "v02.post.far.a.one" || !got.Time.Time().Equal(a.Time.Time()) || got.Base != a.Base || got.Path != a.Path || got.Header("x_unknown") != "keep" ||
		got.Header("source") != "SRC" || got.Headers["CC"] != nil {
		t.Errorf("%+v", got)
	}
	if two()[0].Topic != "v02.post.far.b.two" {
		t.Errorf("%+v", two()[0])
	}
}

// What waits on disk goes to its own exchange at the next start.
func TestShovelRemembersExchange(t *testing.T) {
	h := newHouse(t)
	there := newHouse(t)
	got := there.capture("x1")
	cfg := h.config(config.Shovel, "-exchange", "x2", "-pb", "sqlite://"+there.db)
	f, err := NewFlow(cfg, h.host())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.openState(); err != nil {
		t.Fatal(err)
	}
	a := announced("http://h/", "held", "1", 1700000000)
	a.Exchange = "x1"
	if _, err := f.retries.Hold(a, "test"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.retries.Close(), f.unmark()); err != nil {
		t.Fatal(err)
	}
	_, stop := h.run(config.Shovel, "-exchange", "x2", "-pb", "sqlite://"+there.db)
	there.until("it is moved", func() bool { return len(got()) == 1 })
	stop()
}

// A broker that refuses is asked until it takes the announcement.
func TestShovelSurvivesRefusal(t *testing.T) {
	h := newHouse(t)
	there := newHouse(t)
	f, stop := h.run(config.Shovel, "-exchange", "xin", "-post_exchange", "xlate", "-declare_exchange", "off", "-pb", "sqlite://"+there.db)
	h.post("xin", announced("http://h/", "one", "1", 1700000000))
	h.until("it is refused", func() bool { return f.announce.refusal() != nil })
	got := there.capture("xlate")
	h.until("it is moved", func() bool { return len(got()) == 1 })
	stop()
}

// design: consuming and publishing one exchange of one broker is refused unless forced.
func TestShovelRefusesLoop(t *testing.T) {
	h := newHouse(t)
	for _, args := range [][]string{
		{"-exchange", "x1"}, {"-exchange", "x1", "-post_exchange", "x1"},
		{"-exchange", "x1", "-subtopic", "a.#", "-exchange", "x2", "-subtopic", "b.#", "-post_exchange", "x2"},
	} {
		if _, err := NewFlow(h.config(config.Shovel, args...), h.host()); !errors.Is(err, errLoop) || broker.Hint(err) == "" {
			t.Errorf("%v: %v", args, err)
		}
		if _, err := NewFlow(h.config(config.Shovel, append(args, "-allow_loop")...), h.host()); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// The manager is the broker of who is told no other, on both sides.
func TestManagerIsDefault(t *testing.T) {
	h := newHouse(t)
	p, err := newPlan(h.config(config.Shovel, "-manager", "sqlite:///m.db", "-post_exchange", "xother"), h.host())
	if err != nil || p.from.url != "sqlite:///m.db" || p.to.url != "sqlite:///m.db" {
		t.Errorf("%+v %v", p, err)
	}
	if p, err = newPlan(h.config(config.Subscribe, "-manager", "sqlite:///m.db"), h.host()); err != nil || p.from.url == "sqlite:///m.db" {
		t.Errorf("%+v %v", p, err)
	}
}

// A route without anything remembered follows the first binding.
func TestRouteOfForeignRetry(t *testing.T) {
	r := route{received: []string{"x1", "x2"}}
	if x := r.of(&post.Announcement{}); x != "x1" {
		t.Error(x)
	}
	if x := r.of(&post.Announcement{Exchange: "x2"}); x != "x2" {
		t.Error(x)
	}
}
