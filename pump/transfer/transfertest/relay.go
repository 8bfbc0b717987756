package transfertest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// relay stands between a Getter and its server and does to each connection
// what fault says, after so many bytes to the Getter. It ends with the test.
func relay(t *testing.T, server string, after int64, fault func(*link)) (addr string) {
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
			wg.Go(func() { forward(client, server, after, fault, over) })
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
	go func() { _, _ = io.Copy(up, client) }() // ends when either is closed
	_, _ = io.CopyN(client, up, after)
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
