package amqp

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"srpump/pump/broker"
)

const (
	closeLimit = time.Second      // for each of the two steps of Close
	logEvery   = time.Minute      // between two lines about the same trouble
	heartbeat  = 10 * time.Second // broker.Options
	minBackoff = 250 * time.Millisecond
	maxBackoff = 10 * time.Second // a broker that is back must not wait long for who feeds it
)

// A conn is one logical connection; links come and go beneath it.
type conn struct {
	to  target
	o   broker.Options
	log *slog.Logger

	life   context.Context // ends with Close
	end    context.CancelFunc
	work   sync.WaitGroup // every goroutine
	bye    chan struct{}  // closed when Close is done with the link
	ledger ledger

	complained atomic.Int64 // when refusals to declare again were last logged, Unix nanoseconds

	declared atomic.Uint64 // exchanges declared so far; old refusals may be void

	mu       sync.Mutex
	link     *link         // nil while there is none
	changed  chan struct{} // closed and replaced when link or err changes
	err      error         // why there will never be a link again
	logged   time.Time     // the last line about a broken link; supervise's own
	children map[child]struct{}
}

// A child is a consumer or publisher of a conn.
type child interface {
	// shut ends it within closeLimit; channels are left to the link.
	shut()
}

// Open connects to the broker at rawURL, amqp:// or amqps://. It tries again
// until ctx ends, except that a refusal of user, password or vhost is final
// (ErrRefused), and so is, with o.Once, the first failure (ErrUnreachable).
func Open(ctx context.Context, rawURL string, o broker.Options) (broker.Conn, error) {
	to, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	c := &conn{to: to, o: withDefaults(o), changed: make(chan struct{}), bye: make(chan struct{}), children: map[child]struct{}{}}
	c.log = c.o.Logger
	c.life, c.end = context.WithCancel(context.Background())
	l, err := c.connect(ctx, c.o.Once || c.o.OpenOnce, true)
	if err != nil {
		c.end()
		return nil, err
	}
	c.link = l
	c.work.Go(func() { c.supervise(l) })
	return c, nil
}

func withDefaults(o broker.Options) broker.Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Away == nil {
		o.Away = func(error) {}
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = heartbeat
	}
	if o.MinBackoff == 0 {
		o.MinBackoff = minBackoff
	}
	if o.MaxBackoff == 0 {
		o.MaxBackoff = maxBackoff
	}
	if o.Name == "" {
		o.Name = "srpump"
	}
	return o
}

// connect dials until there is a link or ctx ends. With once the first failure
// is final, with sure a refusal is.
func (c *conn) connect(ctx context.Context, once, sure bool) (*link, error) {
	for wait := c.o.MinBackoff; ; wait = min(2*wait, c.o.MaxBackoff) {
		l, err := c.dial(ctx)
		switch {
		case err == nil:
			c.o.Away(nil)
			return l, nil
		case once, sure && isRefusal(err):
			return nil, err
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%w: %w", err, ctx.Err())
		}
		c.trouble("cannot reach broker", err)
		if pause(ctx, jitter(wait)) != nil {
			return nil, fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}

// trouble logs what happened to the link, once in a while.
func (c *conn) trouble(what string, err error) {
	c.o.Away(err)
	if time.Since(c.logged) > logEvery {
		c.log.Warn(what, "broker", c.to.safe, "error", err, "hint", broker.Hint(err))
		c.logged = time.Now()
	}
}

// jitter is between a half and one and a half of d, so that a thousand
// clients of a broker that restarts do not come back in one instant.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// await returns the current link, waiting for one if need be.
func (c *conn) await(ctx context.Context) (*link, error) {
	for {
		c.mu.Lock()
		l, err, changed := c.link, c.err, c.changed
		c.mu.Unlock()
		switch {
		case c.life.Err() != nil:
			return nil, broker.ErrClosed
		case err != nil:
			return nil, err
		case l != nil:
			return l, nil
		}
		select {
		case <-changed:
		case <-c.life.Done():
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// set replaces the current link and wakes all who wait.
func (c *conn) set(l *link, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link, c.err = l, err
	close(c.changed)
	c.changed = make(chan struct{})
}

// adopt registers a child, unless the conn is closed.
func (c *conn) adopt(x child) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		return broker.ErrClosed
	}
	c.children[x] = struct{}{}
	return nil
}

func (c *conn) release(x child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.children, x)
}

// Close implements broker.Conn. It takes no longer than two seconds.
func (c *conn) Close() error {
	c.mu.Lock()
	if c.life.Err() != nil {
		c.mu.Unlock()
		return nil
	}
	c.end()
	children := c.children
	c.children = nil
	c.mu.Unlock()

	var ending sync.WaitGroup
	for x := range children {
		ending.Go(x.shut)
	}
	ending.Wait()
	close(c.bye)
	c.work.Wait()
	return nil
}
