package amqp

import (
	"context"
	"slices"
	"sync"
	"time"

	"srpump/pump/broker"
)

const (
	defaultWindow = 1000 // broker.PublishOptions
	// sendBatch letters are encoded before the first of them is on its way.
	sendBatch  = 32
	nackPause  = 100 * time.Millisecond // doubling, up to
	nackPauses = 10 * time.Second
)

// A publisher outlives its channels.
type publisher struct {
	c     *conn
	o     broker.PublishOptions
	slots chan struct{} // one token per letter in the outbox
	wake  chan struct{} // holds a token when there may be something to send

	life context.Context
	end  context.CancelFunc
	over chan struct{} // closed when run has returned

	mu       sync.Mutex
	box      outbox
	refusals map[string]refusal
	invalid  int // letters in the outbox that are not to be sent
	waiters  []*waiter
	finished uint64        // letters whose done was called
	err      error         // why nothing is accepted any more
	paused   time.Duration // the last pause after a nack; 0 after an ack
	current  *lane         // nil while there is none

	calling sync.Mutex // held while done functions run
}

// A waiter is a Flush.
type waiter struct {
	seq  uint64 // waits for all letters before this one
	left uint64
	done chan struct{}
}

// Publisher implements broker.Conn. It does not wait for the broker.
func (c *conn) Publisher(ctx context.Context, o broker.PublishOptions) (broker.Publisher, error) {
	if _, err := c.await(ctx); err != nil {
		return nil, err
	}
	if o.Window <= 0 {
		o.Window = defaultWindow
	}
	p := &publisher{c: c, o: o, slots: make(chan struct{}, o.Window), wake: make(chan struct{}, 1),
		over: make(chan struct{}), refusals: map[string]refusal{}}
	p.life, p.end = context.WithCancel(c.life)
	if err := c.adopt(p); err != nil {
		p.end()
		return nil, err
	}
	go p.run()
	return p, nil
}

// Publish implements broker.Publisher.
func (p *publisher) Publish(ctx context.Context, m broker.Publishing, done func(error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.life.Done():
		return p.closed()
	}
	x := &letter{Publishing: m, done: done}
	x.err = check(&x.Publishing)
	p.mu.Lock()
	if p.err != nil || p.life.Err() != nil {
		p.mu.Unlock()
		<-p.slots
		return p.closed()
	}
	p.box.add(x)
	if x.err != nil {
		p.invalid++
	}
	p.mu.Unlock()
	signal(p.wake)
	return nil
}

func (p *publisher) closed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	return broker.ErrClosed
}

// Flush implements broker.Publisher.
func (p *publisher) Flush(ctx context.Context) error {
	p.mu.Lock()
	w := &waiter{seq: p.box.seq, left: p.box.seq - p.finished, done: make(chan struct{})}
	if w.left == 0 {
		defer p.mu.Unlock()
		return p.err
	}
	p.waiters = append(p.waiters, w)
	p.mu.Unlock()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// finish calls done of letters that have left the outbox, and only then makes
// room for others and counts them for Flush.
func (p *publisher) finish(letters []*letter, err error) {
	if len(letters) == 0 {
		return
	}
	p.calling.Lock()
	for _, x := range letters {
		x.finish(p.o.Unrouted, err)
	}
	p.calling.Unlock()
	p.mu.Lock()
	p.finished += uint64(len(letters))
	p.waiters = slices.DeleteFunc(p.waiters, func(w *waiter) bool { return w.count(letters) })
	p.mu.Unlock()
	for range letters {
		<-p.slots
	}
}

// count takes finished letters off, and tells whether the wait is over.
func (w *waiter) count(letters []*letter) bool {
	for _, x := range letters {
		if x.seq < w.seq {
			w.left--
		}
	}
	if w.left > 0 {
		return false
	}
	close(w.done)
	return true
}

// finish tells the caller how x ended: by err if that is set, else by what was
// noted on the letter.
func (x *letter) finish(unrouted func(exchange, key string), err error) {
	switch {
	case x.err != nil:
		err = x.err
	case err != nil || !x.returned:
	case x.Mandatory:
		err = &broker.Error{Op: "publish", Object: x.Exchange, Kind: broker.ErrUnroutable,
			Reason: "topic " + x.Key, Hint: "bind a queue to the exchange for this topic"}
	case unrouted != nil:
		unrouted(x.Exchange, x.Key)
	}
	if x.done != nil {
		x.done(err)
	}
}

// Close implements broker.Publisher.
func (p *publisher) Close() error {
	p.shut()
	p.c.release(p)
	return nil
}

// shut ends the publisher. A broker that takes no bytes meanwhile loses its link.
func (p *publisher) shut() {
	p.end()
	select {
	case <-p.over:
		return
	case <-time.After(closeLimit):
	}
	p.mu.Lock()
	if p.current != nil {
		_ = p.current.link.wire.Close()
	}
	p.mu.Unlock()
	<-p.over
}
