package cutproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// NewFTP starts a proxy to an FTP server, whose data connections go through it and are what it counts, cuts and
// stalls. The control connections, to Addr, are passed on and end with a cut.
func NewFTP(t testing.TB, target string) *Proxy {
	t.Helper()
	p := &Proxy{links: map[*link]struct{}{}, budget: -1}
	p.moved = sync.NewCond(&p.mu)
	var err error
	if p.addr, err = p.listen(func(in net.Conn) { p.control(in, target) }); err != nil {
		t.Fatalf("cannot start a proxy: %v", err)
	}
	t.Cleanup(p.close)
	return p
}

// control passes a control connection on, and gives each data connection a door of its own.
func (p *Proxy) control(in net.Conn, target string) {
	out, err := net.Dial("tcp", target)
	if err != nil {
		out = in
	}
	l := &link{in: in, out: out}
	if err != nil || !p.add(l) {
		l.reset()
		return
	}
	defer p.drop(l)
	p.wg.Go(func() { _, _ = io.Copy(out, in); p.drop(l) })
	for from := bufio.NewReader(out); ; {
		reply, err := from.ReadString('\n')
		if err == nil {
			reply, err = p.lead(reply, target)
		}
		if _, lost := io.WriteString(in, reply); errors.Join(err, lost) != nil {
			return
		}
	}
}

// lead rewrites a reply to EPSV (RFC 2428, 3), which names the port of a data connection.
func (p *Proxy) lead(reply, target string) (string, error) {
	if !strings.HasPrefix(reply, "229 ") {
		return reply, nil
	}
	_, port, _ := strings.Cut(reply, "(|||")
	port, _, _ = strings.Cut(port, "|")
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		return "", err
	}
	data := net.JoinHostPort(host, port)
	door, err := p.listen(func(in net.Conn) { p.serve(in, data) })
	if err != nil {
		return "", err
	}
	_, at, _ := net.SplitHostPort(door)
	return fmt.Sprintf("229 by way of a proxy (|||%s|)\r\n", at), nil
}
