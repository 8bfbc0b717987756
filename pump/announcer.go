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

// An announcer publishes announcements to one exchange and says when the broker
// has taken each.
type announcer struct {
	pub      broker.Publisher
	exchange string
	proto    broker.Publishing // what all publishings have in common
	patient  bool              // a refusal is waited out, not returned
	log      *slog.Logger
	counters *Counters
	unrouted atomic.Int64 // since the last hint
	complain sync.Mutex
	said     time.Time // last complaint about a refusal
}

// publishWindow is how many announcements may be unconfirmed.
const publishWindow = 2000

// newAnnouncer declares the exchange where that is wanted and possible, and
// starts publishing to it.
func newAnnouncer(ctx context.Context, conn broker.Conn, exchange string, c *config.Config, h *Host, n *Counters) (*announcer, error) {
	a := &announcer{exchange: exchange, log: h.Log, counters: n, proto: broker.Publishing{
		Exchange: exchange, ContentType: post.ContentType, ContentEncoding: post.ContentEncoding, Transient: !c.Values.Bool("persistent"),
	}}
	if ttl := c.Values.Duration("message_ttl"); ttl > 0 && c.Preset&(config.Post|config.Watch|config.Poll) != 0 {
		a.proto.Expiration = strconv.FormatInt(ttl.Milliseconds(), 10)
	}
	var err error
	if a.pub, err = conn.Publisher(ctx, broker.PublishOptions{Window: publishWindow, Unrouted: a.noteUnrouted}); err != nil {
		return nil, err
	}
	if c.Values.Bool("declare_exchange") { // while the publisher is getting ready
		if err := declareExchange(ctx, conn, exchange, h.Log); err != nil {
			return nil, errors.Join(err, a.pub.Close())
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

// send publishes a; done is called once with nil when the broker has taken
// it. It fails, without calling done, when a cannot be encoded or ctx ends.
func (n *announcer) send(ctx context.Context, a *post.Announcement, done func(error)) error {
	m, err := post.EncodeV02(a)
	if err != nil {
		return err
	}
	if len(m.Dropped) > 0 {
		n.log.Warn("headers left out", "path", a.Path, "headers", m.Dropped, "limit", post.MaxHeader)
	}
	p := n.proto
	p.Key, p.Headers, p.Body = m.Topic, m.Headers, m.Body
	return n.publish(ctx, p, time.Second, done)
}

func (n *announcer) publish(ctx context.Context, p broker.Publishing, pause time.Duration, done func(error)) error {
	return n.pub.Publish(ctx, p, func(err error) {
		switch {
		case err == nil:
			n.counters.Announced.Add(1)
			done(nil)
		case n.patient && (errors.Is(err, broker.ErrNotFound) || errors.Is(err, broker.ErrRefused)):
			n.refused(err)
			time.AfterFunc(pause, func() { n.again(ctx, p, min(2*pause, time.Minute), done) })
		default:
			done(err)
		}
	})
}

// again publishes what was refused; an administrator may have mended it.
func (n *announcer) again(ctx context.Context, p broker.Publishing, pause time.Duration, done func(error)) {
	if err := n.publish(ctx, p, pause, done); err != nil {
		done(err)
	}
}

// refused complains at most once a minute.
func (n *announcer) refused(err error) {
	n.complain.Lock()
	defer n.complain.Unlock()
	if time.Since(n.said) < time.Minute {
		return
	}
	n.said = time.Now()
	n.log.Error("announcement refused, trying again", "exchange", n.exchange, "error", err, "hint", broker.Hint(err))
}

func (n *announcer) noteUnrouted(exchange, _ string) {
	n.counters.Unrouted.Add(1)
	if n.unrouted.Add(1) == 1 {
		n.log.Warn("announcement reached no one", "exchange", exchange,
			"hint", fmt.Sprintf("nobody is bound to %s for this topic: start a subscriber first, or check its subtopic", exchange))
	}
}

// close waits for what is on its way, as long as ctx lasts, and says how many
// announcements nobody was bound for.
func (n *announcer) close(ctx context.Context) error {
	err := n.pub.Flush(ctx)
	if k := n.unrouted.Load(); k > 1 {
		n.log.Warn("announcements reached no one", "exchange", n.exchange, "count", k)
	}
	return errors.Join(err, n.pub.Close())
}
