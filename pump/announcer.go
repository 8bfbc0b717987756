package pump

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
)

// An announcer publishes announcements along one route and says when the broker
// has taken each.
type announcer struct {
	pub      broker.Publisher
	route    route
	proto    broker.Publishing // what all publishings have in common
	patient  bool              // a refusal is waited out, not returned
	log      *slog.Logger
	counters *Counters
	unrouted atomic.Int64 // since the last hint
	open     atomic.Int64 // sent, and neither taken nor refused for good
	life     context.Context
	end      context.CancelFunc
	trying   sync.WaitGroup // refused publishings that are being published again

	mu       sync.Mutex
	closed   bool
	refusals map[*refusal]struct{} // waiting to be published again
	reason   error                 // of the last refusal
	said     time.Time             // last complaint about one
}

// A refusal is a publishing that waits for the broker to change its mind.
type refusal struct {
	p     broker.Publishing
	pause time.Duration // before the next attempt
	done  func(error)
	timer *time.Timer
}

// publishWindow is how many announcements may be unconfirmed.
const publishWindow = 2000

// newAnnouncer declares the exchanges of the route where that is wanted and possible, and
// starts publishing.
func newAnnouncer(ctx context.Context, conn broker.Conn, r route, c *config.Config, h *Host, n *Counters) (*announcer, error) {
	a := &announcer{route: r, log: h.Log, counters: n, refusals: make(map[*refusal]struct{}), proto: broker.Publishing{
		ContentEncoding: post.ContentEncoding, Transient: !c.Values.Bool("persistent"),
		Mandatory: c.Values.String("restore_to_queue") != "",
	}}
	if ttl := c.Values.Duration("message_ttl"); ttl > 0 && c.Preset&(config.Post|config.Watch|config.Poll) != 0 {
		a.proto.Expiration = strconv.FormatInt(ttl.Milliseconds(), 10)
	}
	a.life, a.end = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	if a.pub, err = conn.Publisher(ctx, broker.PublishOptions{Window: publishWindow, Unrouted: a.noteUnrouted}); err != nil {
		a.end()
		return nil, err
	}
	if c.Values.Bool("declare_exchange") { // while the publisher is getting ready
		for _, x := range r.exchanges() {
			if err := declareExchange(ctx, conn, x, h.Log); err != nil {
				a.end()
				return nil, errors.Join(err, a.pub.Close())
			}
		}
	}
	return a, nil
}

// declareExchange makes the exchange when it is missing. A broker that does not allow
// it has the last word, and may know the exchange all the same.
func declareExchange(ctx context.Context, conn broker.Conn, exchange string, log *slog.Logger) error {
	err := conn.DeclareExchange(ctx, broker.Exchange{Name: exchange, Passive: true})
	if errors.Is(err, broker.ErrNotFound) {
		err = conn.DeclareExchange(ctx, broker.Exchange{Name: exchange})
	}
	if errors.Is(err, broker.ErrRefused) || errors.Is(err, broker.ErrPrecondition) {
		log.Warn("exchange not declared", "exchange", exchange, "error", err, "hint", broker.Hint(err))
		return nil
	}
	return err
}

// send publishes a; done is called once, with nil when the broker has taken it, with
// broker.ErrClosed when close came first. It fails, without calling done, when a cannot be
// encoded or ctx ends.
func (n *announcer) send(ctx context.Context, a *post.Announcement, done func(error)) error {
	m, err := post.Encode(a)
	if err != nil {
		return err
	}
	if len(m.Dropped) > 0 {
		n.log.Warn("headers left out", "path", a.Path, "headers", m.Dropped, "limit", post.MaxHeader)
	}
	p := n.proto
	p.Exchange, p.Key, p.Headers, p.Body, p.ContentType = n.route.of(a), m.Topic, m.Headers, m.Body, m.ContentType
	n.open.Add(1)
	err = n.publish(ctx, p, time.Second, func(err error) {
		if err == nil {
			n.counters.Announced.Add(1)
			logAnnounced(n.log, a, m)
		}
		if !errors.Is(err, broker.ErrClosed) {
			n.open.Add(-1)
		}
		done(err)
	})
	if err != nil {
		n.open.Add(-1)
	}
	return err
}

func (n *announcer) publish(ctx context.Context, p broker.Publishing, pause time.Duration, done func(error)) error {
	return n.pub.Publish(ctx, p, func(err error) {
		if n.patient && (errors.Is(err, broker.ErrNotFound) || errors.Is(err, broker.ErrRefused)) {
			n.refused(&refusal{p: p, pause: pause, done: done}, err)
			return
		}
		done(err)
	})
}

// refused keeps r to be published again, as an administrator may mend what was wrong, and
// complains at most once a minute.
func (n *announcer) refused(r *refusal, err error) {
	n.mu.Lock()
	n.reason = err
	loud := time.Since(n.said) >= time.Minute
	if loud {
		n.said = time.Now()
	}
	closed := n.closed
	if !closed {
		n.refusals[r] = struct{}{}
		r.timer = time.AfterFunc(r.pause, func() { n.again(r) })
	}
	n.mu.Unlock()
	if loud {
		n.log.Error("announcement refused, trying again", "exchange", r.p.Exchange, "error", err, "hint", broker.Hint(err))
	}
	if closed {
		r.done(broker.ErrClosed)
	}
}

// again publishes what was refused, unless close has taken it.
func (n *announcer) again(r *refusal) {
	n.mu.Lock()
	_, mine := n.refusals[r]
	if mine {
		delete(n.refusals, r)
		n.trying.Add(1)
	}
	n.mu.Unlock()
	if !mine {
		return
	}
	defer n.trying.Done()
	err := n.publish(n.life, r.p, min(2*r.pause, time.Minute), r.done)
	if errors.Is(err, context.Canceled) {
		err = broker.ErrClosed
	}
	if err != nil {
		r.done(err)
	}
}

func (n *announcer) noteUnrouted(exchange, _ string) {
	n.counters.Unrouted.Add(1)
	if n.unrouted.Add(1) == 1 {
		n.log.Warn("announcement reached no one", "exchange", exchange,
			"hint", fmt.Sprintf("nobody is bound to %s for this topic: start a subscriber first, or check its subtopic", exchange))
	}
}

// close waits for what is on its way, as long as ctx lasts, and says how many announcements
// nobody was bound for. Its error says how many the broker has not taken; those that wait
// after a refusal are not tried again.
func (n *announcer) close(ctx context.Context) error {
	n.giveUp()
	err := n.pub.Flush(ctx)
	if k := n.unrouted.Load(); k > 1 {
		n.log.Warn("announcements reached no one", "exchange", n.route, "count", k)
	}
	if k := n.open.Load(); k > 0 {
		err = fmt.Errorf("%d announcements not confirmed: %w", k, errors.Join(err, n.refusal()))
	}
	return errors.Join(err, n.pub.Close())
}

// giveUp ends the waiting of what was refused.
func (n *announcer) giveUp() {
	n.mu.Lock()
	left := n.refusals
	n.closed, n.refusals = true, nil
	n.mu.Unlock()
	n.end()
	n.trying.Wait()
	for r := range left {
		r.timer.Stop()
		r.done(broker.ErrClosed)
	}
}

// refusal is why the broker last refused, if it did.
func (n *announcer) refusal() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reason
}
