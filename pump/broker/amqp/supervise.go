package amqp

import (
	"context"
	"errors"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
)

// supervise replaces the link whenever it breaks, until the conn is closed.
// What the broker refuses to have declared again is tried again, with the same
// growing pauses.
func (c *conn) supervise(l *link) {
	c.watchBlocks(l)
	var again <-chan time.Time
	wait := c.o.MinBackoff
	for {
		select {
		case reason := <-l.closed:
			if l = c.replace(l, reason); l == nil {
				return
			}
			again = c.restoreOrLater(l, &wait)
			c.set(l, nil)
		case <-again:
			again = c.restoreOrLater(l, &wait)
		case <-c.bye:
			l.close(closeLimit / 2)
			return
		}
	}
}

// replace returns a new link, or nil when there will be none.
func (c *conn) replace(old *link, reason *amqp.Error) *link {
	_ = old.wire.Close()
	if c.life.Err() != nil {
		return nil
	}
	lost := c.unreachable(nil)
	if reason != nil {
		lost.Reason = reason.Reason
	}
	if c.o.Once {
		c.set(nil, lost)
		close(old.down)
		return nil
	}
	c.set(nil, nil)
	close(old.down)
	c.trouble("lost broker", lost)
	if time.Since(old.born) < c.o.MinBackoff && pause(c.life, jitter(c.o.MinBackoff)) != nil {
		return nil
	}
	l, err := c.connect(c.life, false, false)
	if err != nil {
		return nil // closed meanwhile
	}
	c.log.Info("broker is back", "broker", c.to.safe)
	c.watchBlocks(l)
	return l
}

// restoreOrLater declares again what the ledger holds. When some of it was
// refused it returns the moment to try once more.
func (c *conn) restoreOrLater(l *link, wait *time.Duration) <-chan time.Time {
	if c.restore(c.life, l, "") == nil || l.broken() {
		*wait = c.o.MinBackoff
		return nil
	}
	*wait = min(2**wait, c.o.MaxBackoff)
	return time.After(jitter(*wait))
}

// watchBlocks reports a broker that stops reading because it ran out of memory
// or disk; publishers wait by themselves, as their writes do.
func (c *conn) watchBlocks(l *link) {
	c.work.Go(func() {
		for b := range l.blocks {
			if b.Active {
				c.log.Warn("broker blocks publishers", "broker", c.to.safe, "reason", b.Reason)
			} else {
				c.log.Info("broker unblocks publishers", "broker", c.to.safe)
			}
		}
	})
}

// do runs f with a link until it succeeds, the broker refuses, or ctx ends.
// Its error is ctx's, ErrClosed, or a *broker.Error.
func (c *conn) do(ctx context.Context, op, object string, f func(*link) error) error {
	for wait := c.o.MinBackoff; ; wait = min(2*wait, c.o.MaxBackoff) {
		l, err := c.await(ctx)
		if err != nil {
			return err
		}
		err = f(l)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case c.life.Err() != nil:
			return broker.ErrClosed
		case l.broken() || isNetwork(err):
			_ = l.wire.Close() // a write may fail before the reader sees the end
			select {
			case <-l.down:
			case <-ctx.Done():
				return ctx.Err()
			case <-c.life.Done():
				return broker.ErrClosed
			}
		case !isTransient(err):
			return c.explain(op, object, err)
		default:
			if pause(ctx, jitter(wait)) != nil {
				return ctx.Err()
			}
		}
	}
}

func isRefusal(err error) bool { return errors.Is(err, broker.ErrRefused) }
