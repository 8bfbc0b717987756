package transfer

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// stallConn fails a read or write after a time in which no byte moved, and
// sets no limit on the whole. The deadline is moved once in an eighth of the
// time-out only, because moving it costs more than a small read.
type stallConn struct {
	net.Conn
	timeout time.Duration
	moved   atomic.Int64 // when the deadline was last moved, UnixNano
}

func (c *stallConn) touch() {
	now := time.Now()
	if now.UnixNano()-c.moved.Load() < int64(c.timeout/8) {
		return
	}
	c.moved.Store(now.UnixNano())
	// A connection that cannot take a deadline is closed; its next use says so.
	_ = c.SetDeadline(now.Add(c.timeout + c.timeout/8))
}

func (c *stallConn) Read(p []byte) (int, error) {
	c.touch()
	n, err := c.Conn.Read(p)
	return n, c.explain(err)
}

func (c *stallConn) Write(p []byte) (int, error) {
	c.touch()
	n, err := c.Conn.Write(p)
	return n, c.explain(err)
}

// CloseWrite says that nothing more is written, where the connection can say so.
func (c *stallConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// explain says in plain words what a passed deadline means.
func (c *stallConn) explain(err error) error {
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		return &stallError{c.timeout}
	}
	return err
}

type stallError struct{ after time.Duration }

func (e *stallError) Error() string   { return "stalled: no byte for " + e.after.String() }
func (e *stallError) Timeout() bool   { return true }
func (e *stallError) Temporary() bool { return true }

// Dialer dials with the time-out as limit of the connect and of every stall.
func Dialer(timeout time.Duration) func(ctx context.Context, network, addr string) (net.Conn, error) {
	d := &net.Dialer{Timeout: min(timeout, 60*time.Second), KeepAlive: 30 * time.Second}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return Stalling(conn, timeout), nil
	}
}

// Stalling makes a connection fail when no byte moves for the time-out.
func Stalling(conn net.Conn, timeout time.Duration) net.Conn {
	return &stallConn{Conn: conn, timeout: timeout}
}
