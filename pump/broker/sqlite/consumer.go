package sqlite

import (
	"context"
	"errors"
	"sync"
	"time"

	"srpump/pump/broker"
)

const (
	defaultPrefetch = 25
	settleDelay     = 5 * time.Millisecond // acks are gathered this long
	settleCount     = 256                  // or until so many
)

// A held entry is one handed to this consumer and not yet settled.
type held struct {
	id    int64
	claim *claim // nil for one that came back before
}

// A claim is a range of entries this consumer took in one go.
type claim struct {
	consumer    int64
	first, last int64
	left        int // entries not yet settled
}

type fate int

const (
	gone fate = iota // acknowledged or dropped
	back             // to the queue again
)

// A settlement is what becomes of a held entry at the next transaction.
type settlement struct {
	held
	fate fate
}

// A consumer claims small batches when Next finds none left. What it claims,
// and what it settles, is in the file; who it is dies with its session's bell.
type consumer struct {
	c        *conn
	id       int64 // its row, and the epoch of its tags
	queue    *queue
	prefetch int

	wake    chan struct{} // there may be something to claim
	kick    chan struct{} // something to settle
	hurry   chan struct{} // at once
	closing chan struct{}
	once    sync.Once
	ended   sync.WaitGroup
	err     error

	turn sync.Mutex // one transaction of this consumer at a time

	mu       sync.Mutex
	closed   bool
	last     uint64 // number of the last tag
	buffer   []*broker.Delivery
	held     map[uint64]held
	settling []settlement
}

// Consume implements broker.Conn.
func (c *conn) Consume(ctx context.Context, name string, o broker.ConsumeOptions) (broker.Consumer, error) {
	const op = "consume"
	if o.Prefetch <= 0 {
		o.Prefetch = defaultPrefetch
	}
	s, err := c.here(ctx)
	if err != nil {
		return nil, c.refuse(op, name, err)
	}
	k := &consumer{
		c: c, prefetch: o.Prefetch, held: map[uint64]held{},
		wake: make(chan struct{}, 1), kick: make(chan struct{}, 1), hurry: make(chan struct{}, 1), closing: make(chan struct{}),
	}
	err = c.write(ctx, func(tx *tx) (err error) {
		if k.queue, err = tx.need(op, name); err != nil {
			return err
		}
		if k.id, err = tx.insert("INSERT INTO consumer(queue, session, name) VALUES(?,?,?)", k.queue.id, s.id, o.Name); err != nil {
			return err
		}
		return errors.Join(tx.touch(k.queue), tx.changed())
	})
	if err != nil {
		return nil, c.refuse(op, name, err)
	}
	return k, c.adopt(k)
}

// adopt makes Close of the connection end a consumer.
func (c *conn) adopt(k *consumer) error {
	c.members.Lock()
	c.consumers[k] = true
	c.members.Unlock()
	k.ended.Go(k.settleInTime)
	if c.isClosing() {
		k.Close()
		return closedFault("consume", k.queue.name)
	}
	return nil
}

func (k *consumer) rouse() { poke(k.wake) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Next implements broker.Consumer.
func (k *consumer) Next(ctx context.Context) (*broker.Delivery, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if d, err := k.pop(); d != nil || err != nil {
			return d, err
		}
		found, err := k.replenish(ctx)
		if err != nil {
			return nil, k.c.refuse("consume", k.queue.name, err)
		}
		if found {
			continue
		}
		select {
		case <-k.wake:
		case <-ctx.Done():
		case <-k.closing:
		}
	}
}

// pop is the next delivery already claimed, nil when there is none.
func (k *consumer) pop() (*broker.Delivery, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, closedFault("consume", k.queue.name)
	}
	if len(k.buffer) == 0 {
		return nil, nil
	}
	d := k.buffer[0]
	if k.buffer = k.buffer[1:]; len(k.buffer) == 0 {
		k.buffer = nil
	} else {
		poke(k.wake) // another may wait in Next
	}
	return d, nil
}

// Ack implements broker.Consumer.
func (k *consumer) Ack(tags ...broker.Tag) error { return k.finish(gone, tags) }

// Reject implements broker.Consumer.
func (k *consumer) Reject(requeue bool, tags ...broker.Tag) error {
	if requeue {
		return k.finish(back, tags)
	}
	return k.finish(gone, tags)
}

func (k *consumer) finish(f fate, tags []broker.Tag) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return closedFault("acknowledge", k.queue.name)
	}
	for _, t := range tags {
		h, ok := k.held[t.N]
		if !ok || t.Epoch != uint32(k.id) {
			continue
		}
		delete(k.held, t.N)
		k.settling = append(k.settling, settlement{h, f})
	}
	if len(k.settling) > 0 {
		poke(k.kick)
		poke(k.wake)
	}
	if f == back || len(k.settling) >= settleCount {
		poke(k.hurry)
	}
	return nil
}

// settleInTime writes down acknowledgements that no claim has taken along.
func (k *consumer) settleInTime() {
	t := time.NewTimer(settleDelay)
	defer t.Stop()
	for {
		select {
		case <-k.kick:
		case <-k.closing:
			return
		}
		t.Reset(settleDelay)
		select {
		case <-t.C:
		case <-k.hurry:
		case <-k.closing:
			return
		}
		if err := k.transact(context.Background(), 0); err != nil && !errors.Is(err, broker.ErrClosed) && !errors.Is(err, broker.ErrNotFound) {
			k.c.log.Warn("cannot write acknowledgements, trying again", "queue", k.queue.name, "error", err)
			poke(k.kick)
		}
	}
}

// Close implements broker.Consumer.
func (k *consumer) Close() error {
	k.once.Do(func() {
		k.mu.Lock()
		k.closed = true
		k.buffer = nil
		k.mu.Unlock()
		close(k.closing)
		k.ended.Wait()
		k.err = k.leave()
		k.c.members.Lock()
		delete(k.c.consumers, k)
		k.c.members.Unlock()
	})
	return k.err
}

// leave settles what is known and gives the rest back.
func (k *consumer) leave() error {
	k.turn.Lock()
	defer k.turn.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	err := k.c.writeUntil(ctx, nil, func(tx *tx) error {
		if err := tx.settle(k.takeSettling()); err != nil {
			return err
		}
		return tx.retire(k.id, k.queue.id)
	})
	if errors.Is(err, broker.ErrClosed) {
		return nil
	}
	return k.c.refuse("close consumer", k.queue.name, err)
}
