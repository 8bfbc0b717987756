package sftp

import (
	"context"
	"errors"
	"sync"
	"time"
)

// idleAfter is how long a connection nobody uses is kept.
const idleAfter = 90 * time.Second

// errClosed is a use after Close.
var errClosed = errors.New("the transport was closed")

// pool holds one link for each address.
type pool struct {
	timeout time.Duration
	connect func(context.Context, address) (*connection, error)

	mu     sync.Mutex
	links  map[address]*link
	closed bool
}

func newPool(timeout time.Duration, connect func(context.Context, address) (*connection, error)) *pool {
	return &pool{timeout: timeout, connect: connect, links: make(map[address]*link)}
}

// take returns the link of an address once it is connected, which is begun by the first who asks
// and waited for by all. The caller gives it back. Fresh says that it was not there before.
func (p *pool) take(ctx context.Context, a address) (l *link, fresh bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	l, fresh = p.find(a)
	if l == nil {
		return nil, false, errClosed
	}
	select {
	case <-l.ready:
	case <-ctx.Done():
		p.give(l)
		return nil, false, ctx.Err()
	}
	if l.refused != nil {
		p.give(l)
		return nil, false, l.refused
	}
	return l, fresh, nil
}

func (p *pool) find(a address) (l *link, fresh bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false
	}
	l = p.links[a]
	if l == nil || l.isLost() {
		l = newLink(a, p.timeout)
		p.links[a] = l
		fresh = true
		go p.open(l)
	}
	l.users++
	if l.idle != nil {
		l.idle.Stop()
		l.idle = nil
	}
	return l, fresh
}

// longestLogin is how long a connection may take to come about, whatever the timeout.
const longestLogin = 60 * time.Second

// open connects a link. It does not end with whoever asked first: others may be waiting.
func (p *pool) open(l *link) {
	ctx, cancel := context.WithTimeout(context.Background(), min(p.timeout, longestLogin))
	defer cancel()
	stop := context.AfterFunc(l.ctx, cancel)
	defer stop()
	c, err := p.connect(ctx, l.address)
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.isLost() { // Close came meanwhile
		if err == nil {
			c.close()
		}
		err = errClosed
	}
	if err != nil {
		l.refused = err
		l.lose(err)
		p.forget(l)
	} else {
		l.start(c)
	}
	close(l.ready)
}

// forget takes a link out of the pool; p.mu is held.
func (p *pool) forget(l *link) {
	if p.links[l.address] == l {
		delete(p.links, l.address)
	}
}

// hold is one more use of a link that is taken.
func (p *pool) hold(l *link) {
	p.mu.Lock()
	l.users++
	p.mu.Unlock()
}

// give ends one use of a link, which is closed when nobody uses it for a while.
func (p *pool) give(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.users--; l.users > 0 {
		return
	}
	if p.closed || l.isLost() {
		l.lose(errClosed)
		p.forget(l)
		return
	}
	l.idle = time.AfterFunc(idleAfter, func() { p.retire(l) })
}

func (p *pool) retire(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.users == 0 {
		l.lose(errClosed)
		p.forget(l)
	}
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	links := p.links
	p.links = nil
	p.mu.Unlock()
	for _, l := range links {
		l.lose(errClosed)
	}
}
