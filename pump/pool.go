package pump

import (
	"context"
	"sync"
)

// A pool is the workers of a flow. Each source host has a line of its own and may
// occupy only a share of the workers, so that a slow one cannot starve the others.
type pool struct {
	mu     sync.Mutex
	ready  *sync.Cond
	lines  map[string]*line
	turns  []*line // hosts with work, in turn
	share  int
	newest bool // see backlog
	closed bool
	over   sync.WaitGroup
	work   func(context.Context, *job)
}

type line struct {
	host   string
	jobs   backlog
	active int
	listed bool // among turns
}

// newPool starts n workers, of which one host may occupy share; newest is the order in which
// each host's jobs are begun.
func newPool(n, share int, newest bool, work func(context.Context, *job)) *pool {
	p := &pool{lines: make(map[string]*line), share: share, newest: newest, work: work}
	p.ready = sync.NewCond(&p.mu)
	for range n {
		p.over.Go(p.run)
	}
	return p
}

// add queues a job; it does not wait.
func (p *pool) add(ctx context.Context, j *job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[j.source]
	if l == nil {
		l = &line{host: j.source, jobs: backlog{newest: p.newest}}
		p.lines[j.source] = l
	}
	l.jobs.add(ctx, j)
	p.list(l)
	p.ready.Signal()
}

// list puts a host at the end of the turns when it has work and room.
func (p *pool) list(l *line) {
	if !l.listed && l.jobs.len() > 0 && l.active < p.share {
		l.listed = true
		p.turns = append(p.turns, l)
	}
}

// withdraw takes back a job that no worker has begun.
func (p *pool) withdraw(j *job) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[j.source]
	return l != nil && l.jobs.withdraw(j)
}

// full reports whether a host has more work waiting than it will soon get to.
func (p *pool) full(host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[host]
	return l != nil && l.jobs.len() >= 2*p.share
}

// idle reports whether no job waits for a worker or is in the hands of one.
func (p *pool) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines) == 0
}

func (p *pool) run() {
	for {
		p.mu.Lock()
		for len(p.turns) == 0 && !p.closed {
			p.ready.Wait()
		}
		if p.closed {
			p.mu.Unlock()
			return
		}
		l := p.turns[0]
		p.turns = p.turns[1:]
		l.listed = false
		if l.jobs.len() == 0 { // all were withdrawn
			p.forget(l)
			p.mu.Unlock()
			continue
		}
		t := l.jobs.next()
		l.active++
		p.list(l)
		if len(p.turns) > 0 {
			p.ready.Signal()
		}
		p.mu.Unlock()
		p.work(t.ctx, t.j)
		p.release(l)
	}
}

func (p *pool) release(l *line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.active--
	p.list(l)
	p.forget(l)
	if len(p.turns) > 0 {
		p.ready.Signal()
	}
}

// forget drops the line of a host that has nothing here any more.
func (p *pool) forget(l *line) {
	if l.active == 0 && l.jobs.len() == 0 {
		delete(p.lines, l.host)
	}
}

// close ends the workers after the job each is at; what is queued is not begun.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.ready.Broadcast()
	p.mu.Unlock()
	p.over.Wait()
}
