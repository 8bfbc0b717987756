package ftp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"srpump/pump/transfer/ftp"
)

// A fake is a server of FTP that does what no server should. Commands without an
// entry are answered as a plain server with one file, "file", would.
type fake struct {
	features string // lines of FEAT
	content  string // of the file, and of listings
	on       map[string]func(c *link, arg string)

	addr  string
	mu    sync.Mutex
	heard []string
	peers int
	// stored is what the last STOR brought.
	stored string
}

// link is one control connection.
type link struct {
	f    *fake
	conn net.Conn
	data net.Listener
	rest int
}

func (f *fake) start(t *testing.T) *fake {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	f.addr = ln.Addr().String()
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { (&link{f: f, conn: conn}).serve() })
		}
	})
	return f
}

func (f *fake) url(path string) string { return "ftp://" + f.addr + "/" + path }

// commands are all the fake was told, in order.
func (f *fake) commands() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.heard, "\n")
}

func (f *fake) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.peers
}

func (c *link) say(format string, args ...any) { fmt.Fprintf(c.conn, format+"\r\n", args...) }

func (c *link) serve() {
	defer c.conn.Close()
	defer func() {
		if c.data != nil {
			c.data.Close()
		}
	}()
	c.f.mu.Lock()
	c.f.peers++
	c.f.mu.Unlock()
	if greet := c.f.on["greet"]; greet != nil {
		greet(c, "")
	} else {
		c.say("220 here")
	}
	sc := bufio.NewScanner(c.conn)
	for sc.Scan() {
		c.f.mu.Lock()
		c.f.heard = append(c.f.heard, sc.Text())
		c.f.mu.Unlock()
		verb, arg, _ := strings.Cut(sc.Text(), " ")
		if do := c.f.on[verb]; do != nil {
			do(c, arg)
		} else {
			c.plain(verb, arg)
		}
	}
}

// plain is what a server should do.
func (c *link) plain(verb, arg string) {
	switch verb {
	case "USER":
		c.say("331 password")
	case "PASS":
		c.say("230 in")
	case "FEAT":
		c.say("211-Features:\r\n%s211 End", c.f.features)
	case "PWD":
		c.say(`257 "/" is it`)
	case "TYPE", "NOOP", "OPTS", "SITE", "PORT":
		c.say("200 ok")
	case "CWD", "DELE", "RMD", "RNTO":
		c.say("250 ok")
	case "RNFR", "REST":
		_, _ = fmt.Sscan(arg, &c.rest)
		c.say("350 go on")
	case "SIZE":
		c.say("213 %d", len(c.f.content))
	case "MDTM":
		c.say("213 20200102030405")
	case "EPRT":
		c.say("200 ok")
	case "EPSV":
		c.listen()
		_, port, _ := net.SplitHostPort(c.data.Addr().String())
		c.say("229 ok (|||%s|)", port)
	case "RETR", "LIST", "MLSD":
		c.give(c.f.content[c.rest:], "226 done")
	case "STOR":
		c.take()
	case "QUIT":
		c.say("221 bye")
		c.conn.Close()
	default:
		c.say("502 what")
	}
}

func (c *link) listen() {
	if c.data != nil {
		c.data.Close()
	}
	c.data, _ = net.Listen("tcp", "127.0.0.1:0")
}

// give sends data and says how it went.
func (c *link) give(data, reply string) {
	c.rest = 0
	c.say("150 it comes")
	if conn, err := c.data.Accept(); err == nil {
		_, _ = io.WriteString(conn, data)
		conn.Close()
	}
	c.say("%s", reply)
}

func (c *link) take() {
	c.say("150 go")
	if conn, err := c.data.Accept(); err == nil {
		data, _ := io.ReadAll(conn)
		conn.Close()
		c.f.stored = string(data)
	}
	c.say("226 done")
}

func client(t *testing.T, o ftp.Options) *ftp.FTP {
	f := ftp.New(o)
	t.Cleanup(func() { f.Close() })
	return f
}

// port is where data is waited for.
func (c *link) port() int { return c.data.Addr().(*net.TCPAddr).Port }
