package sftp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

const (
	// keepaliveEvery is how often a server is asked whether it is there, and keepaliveMisses how
	// many times in a row it may say nothing (ssh_config(5), ServerAliveInterval and ServerAliveCountMax).
	keepaliveEvery  = 30 * time.Second
	keepaliveMisses = 3
)

// connection is an SFTP session and what it goes through.
type connection struct {
	files *sftp.Client
	ssh   *ssh.Client
	hops  []io.Closer // the hosts it jumps over, nearest last
	wire  *wire
}

func (c *connection) close() {
	c.ssh.Close()
	for _, hop := range c.hops {
		hop.Close()
	}
}

// link is a connection that may be shared, and may be lost at any time.
type link struct {
	address address
	timeout time.Duration

	ready   chan struct{} // closed when connected or refused
	refused error         // why there is no connection; set before ready is closed

	*connection
	owed    atomic.Int64 // calls without an answer
	listers chan *lister // one that is free

	ctx    context.Context // done when lost; its cause says why
	cancel context.CancelCauseFunc
	ended  sync.Once

	users int         // guarded by the pool
	idle  *time.Timer // guarded by the pool
}

func newLink(a address, timeout time.Duration) *link {
	l := &link{address: a, timeout: timeout, ready: make(chan struct{}), listers: make(chan *lister, 1)}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	return l
}

// start puts a connection to use; the pool's lock is held.
func (l *link) start(c *connection) {
	l.connection = c
	context.AfterFunc(l.ctx, c.close)
	go func() {
		err := c.files.Wait()
		if err == nil || err == io.EOF {
			err = errors.New("the server closed the connection")
		}
		l.lose(err)
	}()
	go l.watch()
	go l.keepAlive()
}

// lose ends the connection, and with it all that uses it; the first cause counts.
func (l *link) lose(cause error) { l.ended.Do(func() { l.cancel(cause) }) }

func (l *link) isLost() bool { return l.ctx.Err() != nil }

// watch loses a link on which an answer is owed and no byte of SFTP has moved for the time-out.
// Answers to keepalives do not count: sshd gives them though the disk it serves may hang.
func (l *link) watch() {
	tick := time.NewTicker(max(l.timeout/8, time.Millisecond))
	defer tick.Stop()
	idle := time.Now()
	for {
		select {
		case <-l.ctx.Done():
			return
		case now := <-tick.C:
			if l.owed.Load() == 0 {
				idle = now
			}
			if last := l.wire.last(); last.After(idle) {
				idle = last
			}
			if now.Sub(idle) > l.timeout {
				l.lose(fmt.Errorf("stalled: no byte for %v", l.timeout))
			}
		}
	}
}

// keepAlive finds out about a server that is gone without a word.
func (l *link) keepAlive() {
	tick := time.NewTicker(keepaliveEvery)
	defer tick.Stop()
	answers := make(chan struct{}, keepaliveMisses)
	for asked := 0; ; {
		select {
		case <-l.ctx.Done():
			return
		case <-answers:
			asked = 0
		case <-tick.C:
			if asked++; asked > keepaliveMisses {
				l.lose(fmt.Errorf("the server is gone: no answer for %v", keepaliveMisses*keepaliveEvery))
				return
			}
			go func() {
				if _, _, err := l.ssh.SendRequest("keepalive@openssh.com", true, nil); err == nil {
					select {
					case answers <- struct{}{}:
					default:
					}
				}
			}()
		}
	}
}

// do runs a call of the library, which knows no context, and leaves it behind when ctx or the link
// ends; what it gives afterwards goes to late, where that is set.
func do[T any](ctx context.Context, l *link, call func() (T, error), late func(T)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	var settled atomic.Bool // by the answer or by the caller's leaving, whichever is first
	l.owed.Add(1)
	go func() {
		v, err := call()
		l.owed.Add(-1)
		if settled.CompareAndSwap(false, true) {
			done <- result{v, err}
		} else if err == nil && late != nil {
			late(v)
		}
	}()
	var why error
	select {
	case r := <-done:
		return r.v, l.because(r.err)
	case <-ctx.Done():
		why = ctx.Err()
	case <-l.ctx.Done():
		why = context.Cause(l.ctx)
	}
	if !settled.CompareAndSwap(false, true) {
		r := <-done
		return r.v, l.because(r.err)
	}
	var none T
	return none, why
}

// act is do for a call that gives nothing.
func act(ctx context.Context, l *link, call func() error) error {
	_, err := do(ctx, l, func() (struct{}, error) { return struct{}{}, call() }, nil)
	return err
}

// because replaces what the library says of a lost connection by what it was lost of.
func (l *link) because(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, sftp.ErrSSHFxConnectionLost) || errors.Is(err, io.EOF) && l.isLost() {
		select {
		case <-l.ctx.Done():
		case <-time.After(time.Second): // files.Wait is about to say it
		}
		if l.isLost() {
			return context.Cause(l.ctx)
		}
	}
	return err
}

// wire is the channel the library speaks through; it notes when a byte moved.
type wire struct {
	io.Reader
	io.WriteCloser
	begun time.Time
	moved atomic.Int64 // nanoseconds since begun
}

func (w *wire) last() time.Time { return w.begun.Add(time.Duration(w.moved.Load())) }

func (w *wire) note() { w.moved.Store(int64(time.Since(w.begun))) }

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.note()
	return n, err
}

func (w *wire) Write(p []byte) (int, error) {
	n, err := w.WriteCloser.Write(p)
	w.note()
	return n, err
}
