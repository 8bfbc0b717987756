package transfertest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// relay stands between a Getter and its server and does to each connection
// what fault says, after so many bytes to the Getter. It ends with the test.
func relay(t *testing.T, server string, after int64, fault func(*link)) (addr string) {
	t.Helper()
	return serve(t, func(client net.Conn, over <-chan struct{}) { forward(client, server, after, fault, over) })
}

// relayUp is relay that counts the bytes to the server.
func relayUp(t *testing.T, server string, after int64, fault func(*link)) (addr string) {
	t.Helper()
	return serve(t, func(client net.Conn, over <-chan struct{}) { forwardUp(client, server, after, fault, over) })
}

// relayCount only counts what goes through it, in both directions.
func relayCount(t *testing.T, server string, down, up *atomic.Int64) (addr string) {
	t.Helper()
	return serve(t, func(client net.Conn, _ <-chan struct{}) {
		defer client.Close()
		to, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		defer to.Close()
		go pass(&counter{to, up}, client)
		_, _ = io.Copy(&counter{client, down}, to)
	})
}

// pass copies one direction to its end and says that it has ended.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if c, ok := to.(*counter); ok {
		to = c.Conn
	}
	if tcp, ok := to.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}

// counter counts what is written.
type counter struct {
	net.Conn
	n *atomic.Int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// serve accepts connections until the test ends.
func serve(t *testing.T, each func(client net.Conn, over <-chan struct{})) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	var wg sync.WaitGroup
	t.Cleanup(func() {
		close(over)
		ln.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { <-over; client.Close() }) // a connection may be kept for later
			wg.Go(func() { each(client, over) })
		}
	})
	return ln.Addr().String()
}

// link is one connection through the relay.
type link struct {
	client net.Conn
	over   <-chan struct{}
}

func forward(client net.Conn, server string, after int64, fault func(*link), over <-chan struct{}) {
	defer client.Close()
	up, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer up.Close()
	go pass(up, client)
	_, _ = io.CopyN(client, up, after)
	fault(&link{client, over})
}

func forwardUp(client net.Conn, server string, after int64, fault func(*link), over <-chan struct{}) {
	defer client.Close()
	up, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer up.Close()
	go pass(client, up)
	_, _ = io.CopyN(up, client, after)
	fault(&link{client, over})
}

// cut resets the connection.
func (l *link) cut() {
	if tcp, ok := l.client.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// stall keeps the connection and says nothing more.
func (l *link) stall() { <-l.over }
