package harvest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"syscall"
	"time"
)

// How long a server may take, at most.
const (
	dialPatience = 30 * time.Second
	idlePatience = 90 * time.Second // between two bytes
	keepIdle     = 20 * time.Second // a connection that is not in use
)

// A client speaks HTTP/1.1 over connections of its own, so that what is stored is what went over the
// wire.
type client struct {
	scrub *scrubber
	tls   *tls.Config // nil is the system's

	mu   sync.Mutex
	idle []*wireConn // the longest idle first
}

// mostIdle is how many connections are kept for later: a harvest of the web has many hosts.
const mostIdle = 16

// A wireConn is a connection that copies what it reads.
type wireConn struct {
	net.Conn
	key    string // of where it leads
	in     *bufio.Reader
	copyTo io.Writer
	since  time.Time // of when it is idle
	used   bool      // before this exchange
}

// Read reads and copies. A copy that fails is an error of the connection.
func (c *wireConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(idlePatience)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if n > 0 && c.copyTo != nil {
		switch _, full := c.copyTo.Write(p[:n]); {
		case full == errLongHead:
			return n, full
		case full != nil:
			return n, &PersistError{full}
		}
	}
	return n, err
}

// An exchange is a request under way and its answer.
type exchange struct {
	conn    *wireConn
	request []byte // as it was sent
	answer  *http.Response
	ip      string
	began   time.Time
	release func() bool // of the context
}

// begin sends a request and reads the head of its answer; copyTo then says where its bytes, and those of
// all that follows, go.
func (c *client) begin(ctx context.Context, q Request, copyTo func(*exchange) (io.Writer, error)) (*exchange, error) {
	for {
		req, err := q.http() // its body is gone when it was sent, and its signature used
		if err != nil {
			return nil, err
		}
		conn, err := c.connect(ctx, req.URL, q.Allow)
		if err != nil {
			return nil, err
		}
		x := &exchange{conn: conn, began: time.Now(), ip: ipOf(conn)}
		x.release = context.AfterFunc(ctx, func() { _ = conn.Close() })
		err = x.send(req, copyTo)
		if err == nil {
			return x, nil
		}
		x.abandon()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// A server may close a connection that was idle at any time; nothing has come back then.
		if !conn.used || errors.As(err, new(*PersistError)) || conn.in.Buffered() > 0 {
			return nil, err
		}
	}
}

func ipOf(conn net.Conn) string {
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	return host
}

func (x *exchange) send(req *http.Request, copyTo func(*exchange) (io.Writer, error)) error {
	var out bytes.Buffer
	if err := req.Write(&out); err != nil {
		return err
	}
	x.request = out.Bytes()
	if err := x.conn.SetWriteDeadline(time.Now().Add(idlePatience)); err != nil {
		return err
	}
	if _, err := x.conn.Write(x.request); err != nil {
		return err
	}
	var head headBuffer
	x.conn.copyTo = &head
	for {
		answer, err := http.ReadResponse(x.conn.in, req)
		if err != nil {
			return err
		}
		if answer.StatusCode >= 200 || answer.StatusCode == http.StatusSwitchingProtocols {
			x.answer = answer
			break
		}
		head.Next(head.Len() - x.conn.in.Buffered()) // an interim answer is not the answer
	}
	to, err := copyTo(x)
	if err == nil {
		_, err = to.Write(head.Bytes())
	}
	if err != nil {
		return &PersistError{err}
	}
	x.conn.copyTo = to
	return nil
}

// A headBuffer takes the head of an answer.
type headBuffer struct{ bytes.Buffer }

// longestHead is what a head may have, in bytes.
const longestHead = 1 << 20

var errLongHead = errors.New("the head of the answer is too long")

func (h *headBuffer) Write(p []byte) (int, error) {
	if h.Len()+len(p) > longestHead {
		return 0, errLongHead
	}
	return h.Buffer.Write(p)
}

// surplus is how many bytes were copied that are behind the end of the answer.
func (x *exchange) surplus() int { return x.conn.in.Buffered() }

// abandon ends an exchange that is not whole.
func (x *exchange) abandon() {
	x.release()
	_ = x.conn.Close()
}

// done ends an exchange that is; its connection may serve another.
func (c *client) done(x *exchange) {
	x.conn.copyTo = nil
	if !x.release() || x.answer.Close || x.surplus() > 0 {
		_ = x.conn.Close()
		return
	}
	x.conn.since, x.conn.used = time.Now(), true
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, x.conn)
	for len(c.idle) > mostIdle || time.Since(c.idle[0].since) > keepIdle {
		_ = c.idle[0].Close()
		c.idle = c.idle[1:]
	}
}

// close ends the connections that are not in use.
func (c *client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.idle {
		_ = conn.Close()
	}
	c.idle = nil
}

// connect is a connection to the host of an address, an idle one where there is one.
func (c *client) connect(ctx context.Context, to *url.URL, allow func(netip.Addr) error) (*wireConn, error) {
	port := to.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[to.Scheme]
	}
	address := net.JoinHostPort(to.Hostname(), port)
	key := fmt.Sprint(to.Scheme, " ", address, " ", allow != nil)
	if conn := c.waiting(key); conn != nil {
		return conn, nil
	}
	dialer := net.Dialer{Timeout: dialPatience}
	if allow != nil {
		dialer.Control = guard(allow)
	}
	raw, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if to.Scheme == "https" {
		if raw, err = c.secure(ctx, raw, to.Hostname()); err != nil {
			return nil, err
		}
	}
	conn := &wireConn{Conn: raw, key: key}
	conn.in = bufio.NewReaderSize(conn, 64<<10)
	return conn, nil
}

func (c *client) waiting(key string) *wireConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.idle) - 1; i >= 0; i-- {
		conn := c.idle[i]
		if conn.key != key {
			continue
		}
		c.idle = slices.Delete(c.idle, i, i+1)
		if time.Since(conn.since) < keepIdle {
			return conn
		}
		_ = conn.Close()
	}
	return nil
}

func (c *client) secure(ctx context.Context, raw net.Conn, host string) (net.Conn, error) {
	config := &tls.Config{}
	if c.tls != nil {
		config = c.tls.Clone()
	}
	config.ServerName, config.NextProtos = host, []string{"http/1.1"}
	conn := tls.Client(raw, config)
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	return conn, nil
}

// guard looks at the address a name has led to, so that a name cannot be another one later.
func guard(allow func(netip.Addr) error) func(string, string, syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if err := allow(to.Addr().Unmap()); err != nil {
			return &refusedAddress{err}
		}
		return nil
	}
}
