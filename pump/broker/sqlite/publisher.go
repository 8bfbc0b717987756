package sqlite

import (
	"context"
	"sync"

	"srpump/pump/broker"
)

const (
	defaultWindow = 1000
	batchCount    = 500     // publishings in one transaction at most
	batchBytes    = 8 << 20 // and about this many bytes of bodies
)

// A letter is one publishing on its way, and what became of it.
type letter struct {
	p        broker.Publishing
	done     func(error)
	err      error
	unrouted bool
}

// A publisher passes letters through two stages, each a goroutine: write puts
// what is waiting into the database in one transaction, settle syncs the log
// once for all transactions that are waiting for it, and calls done.
type publisher struct {
	c        *conn
	unrouted func(exchange, key string)
	slots    chan struct{} // one for each unconfirmed letter
	closing  chan struct{}
	once     sync.Once
	ended    sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	waiting []*letter
	sent    uint64 // letters taken from Publish
	settled uint64 // letters whose done has returned
	idle    chan struct{}
	work    chan struct{}  // waiting is not empty
	written chan []*letter // committed, not yet synced
}

// Publisher implements broker.Conn.
func (c *conn) Publisher(ctx context.Context, o broker.PublishOptions) (broker.Publisher, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.Window <= 0 {
		o.Window = defaultWindow
	}
	p := &publisher{
		c: c, unrouted: o.Unrouted,
		slots: make(chan struct{}, o.Window), closing: make(chan struct{}),
		idle: make(chan struct{}), work: make(chan struct{}, 1), written: make(chan []*letter, 8),
	}
	c.members.Lock()
	defer c.members.Unlock()
	if c.isClosing() {
		return nil, closedFault("publish", c.path)
	}
	c.senders[p] = true
	p.ended.Go(p.write)
	p.ended.Go(p.settle)
	return p, nil
}

// Publish implements broker.Publisher.
func (p *publisher) Publish(ctx context.Context, b broker.Publishing, done func(error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closing:
		return broker.ErrClosed
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		<-p.slots
		return broker.ErrClosed
	}
	p.waiting = append(p.waiting, &letter{p: b, done: done})
	p.sent++
	select {
	case p.work <- struct{}{}:
	default:
	}
	return nil
}

// take is the next batch, nil when there is none.
func (p *publisher) take() []*letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, bytes := 0, 0
	for n < len(p.waiting) && n < batchCount && (n == 0 || bytes < batchBytes) {
		bytes += len(p.waiting[n].p.Body)
		n++
	}
	batch := p.waiting[:n:n]
	if p.waiting = p.waiting[n:]; len(p.waiting) == 0 {
		p.waiting = nil
	}
	return batch
}

func (p *publisher) write() {
	defer close(p.written)
	for {
		select {
		case <-p.work:
		case <-p.closing:
		}
		for batch := p.take(); len(batch) > 0; batch = p.take() {
			p.c.post(p, batch)
			p.written <- batch
		}
		if p.stopped() {
			return
		}
	}
}

// stopped is true once Close has been called and nothing is left.
func (p *publisher) stopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed && len(p.waiting) == 0
}

func (p *publisher) settle() {
	for batch := range p.written {
		for more := true; more && len(batch) < 4*batchCount; {
			select {
			case next, ok := <-p.written:
				more = ok
				batch = append(batch, next...)
			default:
				more = false
			}
		}
		p.c.harden(p, batch)
		for _, l := range batch {
			p.tell(l)
		}
		p.account(len(batch))
	}
}

func (p *publisher) tell(l *letter) {
	if l.err == nil && l.unrouted && p.unrouted != nil {
		p.unrouted(l.p.Exchange, l.p.Key)
	}
	if l.done != nil {
		l.done(l.err)
	}
	<-p.slots
}

// account counts finished letters and wakes who flushes.
func (p *publisher) account(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settled += uint64(n)
	close(p.idle)
	p.idle = make(chan struct{})
}

// Flush implements broker.Publisher.
func (p *publisher) Flush(ctx context.Context) error {
	p.mu.Lock()
	target := p.sent
	for p.settled < target {
		idle := p.idle
		p.mu.Unlock()
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
		p.mu.Lock()
	}
	p.mu.Unlock()
	return nil
}

// Close implements broker.Publisher. What is not yet in a transaction fails.
func (p *publisher) Close() error {
	p.once.Do(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		close(p.closing)
		p.ended.Wait()
		p.c.members.Lock()
		delete(p.c.senders, p)
		p.c.members.Unlock()
	})
	return nil
}
