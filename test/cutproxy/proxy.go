// Package cutproxy is a TCP proxy for tests that breaks connections on
// request: at once, after some bytes, or by going silent. It listens on the
// loopback only.
package cutproxy

import (
	"errors"
	"net"
	"sync"
	"testing"
)

// A Proxy passes connections on to its target until told otherwise.
type Proxy struct {
	addr string
	wg   sync.WaitGroup

	mu      sync.Mutex
	doors   []net.Listener
	moved   *sync.Cond // signalled when stalled, closed or a link changes
	links   map[*link]struct{}
	stalled bool
	refuse  bool
	closed  bool
	budget  int64 // bytes until the next cut; negative: no end
	passed  int64 // bytes, in both directions
}

// A link is one connection passed on.
type link struct {
	in, out net.Conn
}

// reset closes both sides with RST, as a machine that lost its state would.
func (l *link) reset() {
	for _, c := range []net.Conn{l.in, l.out} {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

// New starts a proxy to target (host:port). It ends with the test.
func New(t testing.TB, target string) *Proxy {
	t.Helper()
	p := &Proxy{links: map[*link]struct{}{}, budget: -1}
	p.moved = sync.NewCond(&p.mu)
	var err error
	if p.addr, err = p.listen(func(in net.Conn) { p.serve(in, target) }); err != nil {
		t.Fatalf("cannot start a proxy: %v", err)
	}
	t.Cleanup(p.close)
	return p
}

// listen opens one more door: what comes in by it is handed to serve.
func (p *Proxy) listen(serve func(in net.Conn)) (addr string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return "", errors.Join(net.ErrClosed, l.Close())
	}
	p.doors = append(p.doors, l)
	p.wg.Go(func() { p.accept(l, serve) })
	return l.Addr().String(), nil
}

// Addr is the proxy's host:port.
func (p *Proxy) Addr() string { return p.addr }

// Cut resets all connections now and returns how many there were.
func (p *Proxy) Cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut()
}

func (p *Proxy) cut() int {
	n := len(p.links)
	for l := range p.links {
		l.reset()
	}
	clear(p.links)
	p.budget = -1
	p.moved.Broadcast()
	return n
}

// CutAfter resets all connections once n more bytes have passed, in both
// directions together. The last of them may be cut in the middle of a frame.
func (p *Proxy) CutAfter(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget = n
}

// Passed is how many bytes were passed on so far, in both directions. Some of them may never have been read.
func (p *Proxy) Passed() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.passed
}

// Stall keeps connections open but passes nothing on, as a dead network does.
func (p *Proxy) Stall() { p.setStalled(true) }

// Resume passes on again, beginning with what was held back.
func (p *Proxy) Resume() { p.setStalled(false) }

func (p *Proxy) setStalled(v bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = v
	p.moved.Broadcast()
}

// Refuse makes the proxy reset new connections, or accept them again.
func (p *Proxy) Refuse(v bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = v
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.cut()
	for _, l := range p.doors {
		_ = l.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Proxy) accept(l net.Listener, serve func(in net.Conn)) {
	for {
		in, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			p.wg.Go(func() { serve(in) })
		}
	}
}

func (p *Proxy) serve(in net.Conn, target string) {
	out, err := net.Dial("tcp", target)
	l := &link{in: in, out: out}
	if err != nil {
		l.out = in
		l.reset()
		return
	}
	if !p.add(l) {
		l.reset()
		return
	}
	p.wg.Add(1)
	go func() {
		defer p.wg.Done()
		p.pass(l, out, in)
	}()
	p.pass(l, in, out)
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse || p.closed {
		return false
	}
	p.links[l] = struct{}{}
	return true
}

// pass copies from one side to the other until either ends.
func (p *Proxy) pass(l *link, to, from net.Conn) {
	defer p.drop(l)
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		send, whole := p.grant(l, n)
		if _, werr := to.Write(buf[:send]); werr != nil || err != nil {
			return
		}
		if !whole {
			p.exhaust()
			return
		}
	}
}

// grant waits while stalled and says how many of n bytes may pass, and whether
// the link lives on after them.
func (p *Proxy) grant(l *link, n int) (send int, whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.stalled && p.has(l) {
		p.moved.Wait()
	}
	switch {
	case !p.has(l):
		return 0, false
	case p.budget < 0:
		p.passed += int64(n)
		return n, true
	}
	send = int(min(int64(n), p.budget))
	p.passed += int64(send)
	p.budget -= int64(send)
	return send, p.budget > 0
}

// exhaust cuts everything when it was the budget that ended a link.
func (p *Proxy) exhaust() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.budget == 0 {
		p.cut()
	}
}

func (p *Proxy) has(l *link) bool {
	_, ok := p.links[l]
	return ok
}

// drop ends a link of which one side has ended.
func (p *Proxy) drop(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
	_ = l.in.Close()
	_ = l.out.Close()
	p.moved.Broadcast()
}
