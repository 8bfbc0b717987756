package transfertest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// relay is a relay to the server of the harness. Where data goes over connections of their own, each of them is cut
// or stalled and the control connection is left alone.
func (b *bench) relay(t *testing.T, after int64, fault func(*link)) (addr string) {
	t.Helper()
	if !b.Passive {
		return relay(t, b.Addr, after, fault)
	}
	return relayPassive(t, b.Addr, func(data string) string { return relay(t, data, after, fault) })
}

// relayUp is relay that counts the bytes to the server.
func (b *bench) relayUp(t *testing.T, after int64, fault func(*link)) (addr string) {
	t.Helper()
	if !b.Passive {
		return relayUp(t, b.Addr, after, fault)
	}
	return relayPassive(t, b.Addr, func(data string) string { return relayUp(t, data, after, fault) })
}

// relayCount only counts what goes through it, in both directions.
func (b *bench) relayCount(t *testing.T) (addr string, down, up *atomic.Int64) {
	t.Helper()
	down, up = new(atomic.Int64), new(atomic.Int64)
	if !b.Passive {
		return relayCount(t, b.Addr, down, up), down, up
	}
	return relayPassive(t, b.Addr, func(data string) string { return relayCount(t, data, down, up) }), down, up
}

// relayPassive stands on a control connection of FTP and leads each data connection, which a reply to EPSV names,
// through another relay.
func relayPassive(t *testing.T, server string, through func(data string) (addr string)) (addr string) {
	t.Helper()
	return serve(t, func(client net.Conn, _ <-chan struct{}) {
		defer client.Close()
		up, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		defer up.Close()
		go func() { _, _ = io.Copy(up, client); up.Close() }()
		from := bufio.NewReader(up)
		for {
			line, err := from.ReadString('\n')
			if port, ok := portOf(line); ok {
				host, _, _ := net.SplitHostPort(server)
				_, port, _ = net.SplitHostPort(through(net.JoinHostPort(host, port)))
				line = fmt.Sprintf("229 led through a relay (|||%s|)\r\n", port)
			}
			if _, lost := io.WriteString(client, line); err != nil || lost != nil {
				return
			}
		}
	})
}

// portOf is the port a reply to EPSV names.
func portOf(line string) (port string, ok bool) {
	if !strings.HasPrefix(line, "229 ") {
		return "", false
	}
	_, rest, ok := strings.Cut(line, "(|||")
	port, _, _ = strings.Cut(rest, "|")
	return port, ok
}
