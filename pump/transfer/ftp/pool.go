package ftp

import (
	"context"
	"sync"
	"time"
)

const (
	askAfter = 5 * time.Second  // idle longer, a connection is asked whether it lives
	keepFor  = 60 * time.Second // idle longer, it is given up; servers wait five minutes
)

// A pool holds the control connections nobody uses. It limits those kept and not those in use, of which
// there is one for each transfer a caller runs: so two transfers that need each other cannot wait for
// each other.
type pool struct {
	keep   int // per place
	mu     sync.Mutex
	idle   map[place][]*control
	sweep  *time.Timer
	closed bool
}

// take gives the connection used last, or nil.
func (p *pool) take(at place) *control {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := p.idle[at]
	if len(waiting) == 0 {
		return nil
	}
	c := waiting[len(waiting)-1]
	p.idle[at] = waiting[:len(waiting)-1]
	return c
}

// give keeps a connection for the next, or ends it.
func (p *pool) give(at place, c *control) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.broken || p.closed || len(p.idle[at]) >= p.keep {
		c.hangUp()
		return
	}
	if p.idle == nil {
		p.idle = make(map[place][]*control)
	}
	c.since = time.Now()
	p.idle[at] = append(p.idle[at], c)
	if p.sweep == nil {
		p.sweep = time.AfterFunc(keepFor, p.expire)
	}
}

// expire ends what was idle too long and comes back while something is left.
func (p *pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, waiting := range p.idle {
		for len(waiting) > 0 && time.Since(waiting[0].since) >= keepFor {
			waiting[0].hangUp()
			waiting = waiting[1:]
		}
		p.idle[at] = waiting
		if len(waiting) == 0 {
			delete(p.idle, at)
		}
	}
	p.sweep = nil
	if len(p.idle) > 0 && !p.closed {
		p.sweep = time.AfterFunc(keepFor/2, p.expire)
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.sweep != nil {
		p.sweep.Stop()
	}
	for _, waiting := range p.idle {
		for _, c := range waiting {
			c.hangUp()
		}
	}
	clear(p.idle)
}

// obtain gives a connection that lives: an idle one, or a new one.
func (f *FTP) obtain(ctx context.Context, at place) (*control, error) {
	for c := f.pool.take(at); c != nil; c = f.pool.take(at) {
		if time.Since(c.since) < askAfter || c.lives(ctx) {
			return c, nil
		}
		c.hangUp()
	}
	return f.connect(ctx, at)
}

// lives asks a connection that was idle.
func (c *control) lives(ctx context.Context) bool {
	release := context.AfterFunc(ctx, c.hangUp)
	defer release()
	_, err := c.expect(200, "NOOP")
	return err == nil
}
