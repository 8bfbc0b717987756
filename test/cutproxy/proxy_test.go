package cutproxy

import (
	"io"
	"net"
	"testing"
	"time"
)

// echo listens, and sends back what it reads.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, p *Proxy) net.Conn {
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

func says(t *testing.T, c net.Conn, word string) {
	t.Helper()
	if _, err := io.WriteString(c, word); err != nil {
		t.Fatal(err)
	}
	hears(t, c, word)
}

func hears(t *testing.T, c net.Conn, word string) {
	t.Helper()
	b := make([]byte, len(word))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != word {
		t.Fatalf("echo %q, %v; want %q", b, err, word)
	}
}

func dead(t *testing.T, c net.Conn) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Fatalf("read %d bytes of a cut connection", n)
	}
}

func TestCut(t *testing.T) {
	p := New(t, echo(t))
	c := dial(t, p)
	says(t, c, "before")
	if n := p.Cut(); n != 1 {
		t.Fatalf("cut %d connections, want 1", n)
	}
	dead(t, c)
	says(t, dial(t, p), "after")
}

// The bytes allowed pass, and no more.
func TestCutAfter(t *testing.T) {
	p := New(t, echo(t))
	c := dial(t, p)
	p.CutAfter(6)
	if _, err := io.WriteString(c, "four"); err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(c)
	if len(got) > 2 {
		t.Fatalf("read %q past the cut", got)
	}
}

func TestStallHoldsBack(t *testing.T) {
	p := New(t, echo(t))
	c := dial(t, p)
	says(t, c, "before")
	p.Stall()
	if _, err := io.WriteString(c, "held"); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	dead(t, c)
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	p.Resume()
	hears(t, c, "held")
}

func TestRefuse(t *testing.T) {
	p := New(t, echo(t))
	p.Refuse(true)
	if c, err := net.Dial("tcp", p.Addr()); err == nil { // the reset may come before or after
		defer c.Close()
		dead(t, c)
	}
	p.Refuse(false)
	says(t, dial(t, p), "again")
}
