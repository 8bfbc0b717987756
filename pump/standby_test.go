package pump

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
)

// A pair is two hosts on one queue, of which one has the address.
type pair struct {
	*house
	has   [2]atomic.Bool
	flows [2]*Flow
}

// newPair starts both; each looks for the address every few milliseconds.
func newPair(t *testing.T, args ...string) *pair {
	p := &pair{house: newHouse(t)}
	for i := range p.flows {
		own := append([]string{"-state_dir", fmt.Sprintf("%s/state%d", p.dir, i), "-queue_name", "q_shared", "-exchange", "xin", "-post_exchange", "xout",
			"-report_back", "off", "-vip", "127.0.0.1"}, args...)
		f, err := NewFlow(p.config(config.Shovel, own...), p.host())
		if err != nil {
			t.Fatal(err)
		}
		f.lookout = lookout{func(string) bool { return p.has[i].Load() }, 5 * time.Millisecond}
		p.flows[i] = f
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- f.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("host %d ended with %v", i, err)
			}
		})
	}
	p.until("both stand by", func() bool { return strings.Count(p.log.String(), "standing by") == 2 })
	return p
}

// said is how often both have said a phrase.
func (p *pair) said(phrase string) int { return strings.Count(p.log.String(), phrase) }

// The address decides who works, as often as it moves; nothing is lost.
func TestStandby(t *testing.T) {
	for name, args := range map[string][]string{"whole": nil, "split": {"-exchange_split", "-instances", "2"}} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, args...)
			if p.said("consuming") > 0 {
				t.Error("a host consumes without the address")
			}
			exchange := "xin"
			if args != nil {
				exchange = "xin01"
			}
			got := p.capture("xout")
			p.has[0].Store(true)
			p.until("the first consumes", func() bool { return p.said("consuming") > 0 })
			for i := range 6 {
				from, to := i%2, (i+1)%2
				p.post(exchange, numbered(100*i, 100*i+100)...)
				p.until("some have passed", func() bool { return distinctPaths(got()) > 100*i })
				p.has[from].Store(false)
				p.has[to].Store(true)
			}
			p.until("all have passed", func() bool { return distinctPaths(got()) == 600 })
			p.until("each move was said once", func() bool { return p.said("standing by") == 8 && p.said("in charge") == 7 })
			if p.flows[0].Counters.Received.Load() == 0 || p.flows[1].Counters.Received.Load() == 0 {
				t.Error("one did all the work")
			}
		})
	}
}

// Without the address nothing is held, what is in hand ends first, and a delivery
// of an earlier time in charge does not end one of the next.
func TestStandbyGivesBack(t *testing.T) {
	h := newHouse(t)
	c, ctx := h.conn(), context.Background()
	_, err := c.DeclareQueue(ctx, broker.Queue{Name: "q"})
	if err := errors.Join(err, c.DeclareExchange(ctx, broker.Exchange{Name: "x"}), c.Bind(ctx, broker.Binding{Queue: "q", Exchange: "x", Pattern: "#"})); err != nil {
		t.Fatal(err)
	}
	h.post("x", numbered(0, 10)...)
	var here atomic.Bool
	here.Store(true)
	s := newStandby(&Flow{host: h.host(), plan: plan{vip: "127.0.0.1"}, lookout: lookout{func(string) bool { return here.Load() }, time.Hour}})
	s.open = func(ctx context.Context) ([]broker.Consumer, error) {
		k, err := c.Consume(ctx, "q", broker.ConsumeOptions{Prefetch: 5})
		return []broker.Consumer{k}, err
	}
	look := func() {
		t.Helper()
		if err := s.look(ctx); err != nil {
			t.Fatal(err)
		}
	}
	next := func() *broker.Delivery {
		t.Helper()
		d, err := s.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	look()
	first, second := next(), next()
	here.Store(false)
	left := make(chan struct{})
	go func() { defer close(left); look() }()
	h.until("it stands by", s.waiting)
	h.until("nothing more is given", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.now == nil })
	if err := errors.Join(s.Ack(first.Tag), s.Ack(second.Tag)); err != nil {
		t.Fatal(err)
	}
	<-left
	if n := h.depth("q"); n != 8 {
		t.Errorf("%d are there for others, not 8", n)
	}
	here.Store(true)
	look()
	third := next()
	if err := s.Ack(first.Tag, second.Tag); err != nil { // again, and late
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(ctx); !errors.Is(err, broker.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	a, err := post.Decode(third.Key, third.Headers, third.Body)
	if n := h.depth("q"); n != 8 || err != nil || a.Path != "f002" {
		t.Errorf("%d are there, not 8; the third is %+v (%v)", n, a, err)
	}
}

// Retries rest while another host works.
func TestStandbyRetries(t *testing.T) {
	h := newHouse(t)
	var here, served atomic.Bool
	here.Store(true)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !served.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(web.Close)
	f, err := NewFlow(h.config(config.Subscribe, "-exchange", "xin", "-vip", "127.0.0.1", "-report_back", "off"), h.host())
	if err != nil {
		t.Fatal(err)
	}
	f.lookout = lookout{func(string) bool { return here.Load() }, 5 * time.Millisecond}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	h.until("it consumes", func() bool { return strings.Contains(h.log.String(), "consuming") })
	h.post("xin", announced(web.URL+"/", "f", "", 1700000000))
	h.until("it waits on disk", func() bool { return f.Counters.Retried.Load() > 0 })
	here.Store(false)
	h.until("it stands by", f.standby.waiting)
	h.until("nothing is in hand", func() bool { n, _ := f.InHand(); return n == 0 })
	n := f.Counters.Retried.Load()
	served.Store(true)
	now := time.Now().Add(time.Hour)
	f.retryDue(ctx, now)
	if f.Counters.Retried.Load() != n || f.Counters.Fetched.Load() > 0 {
		t.Error("it was tried again")
	}
	here.Store(true)
	h.until("it has the address", func() bool { return !f.standby.waiting() })
	f.retryDue(ctx, now)
	h.until("it is fetched", func() bool { return f.Counters.Fetched.Load()+f.Counters.Unchanged.Load() == 1 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Reset is for the start: a host that takes over later keeps what the other has left.
func TestStandbyResets(t *testing.T) {
	p := newPair(t, "-reset")
	got := p.capture("xout")
	p.has[0].Store(true)
	p.until("the first consumes", func() bool { return p.said("consuming") == 1 })
	p.has[0].Store(false)
	p.until("it stands by", func() bool { return p.said("standing by") == 3 })
	p.until("it has given all back", func() bool {
		p.flows[0].standby.mu.Lock()
		defer p.flows[0].standby.mu.Unlock()
		return p.flows[0].standby.now == nil
	})
	p.post("xin", numbered(0, 5)...)
	p.has[1].Store(true)
	p.until("what was left has passed", func() bool { return distinctPaths(got()) == 5 })
}
