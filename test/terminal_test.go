package test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A terminal is what a command writes its errors to, and what came there.
type terminal struct {
	program *os.File
	mu      sync.Mutex
	came    strings.Builder
}

// newTerminal opens one of 80 columns.
func newTerminal(t *testing.T) *terminal {
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { ours.Close() })
	must(t, unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	must(t, err)
	must(t, unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	c := &terminal{}
	c.program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { c.program.Close() })
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := ours.Read(buf)
			if err != nil {
				return
			}
			c.mu.Lock()
			c.came.Write(buf[:n])
			c.mu.Unlock()
		}
	}()
	return c
}

func (c *terminal) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.came.String()
}

// On a terminal a transfer that takes long has a line, and the log its own lines.
func TestProgressOnTerminal(t *testing.T) {
	h, half := newHost(t), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "2097152")
		_, _ = w.Write(make([]byte, 1<<20))
		w.(http.Flusher).Flush()
		<-half
		_, _ = w.Write(make([]byte, 1<<20))
	}))
	t.Cleanup(s.Close)
	h.write("src/big", strings.Repeat("\x00", 2<<20))
	node, c := "sqlite://"+h.path("pump.db"), newTerminal(t)
	cmd := h.command("sr_subscribe", "-b", node, "-directory", h.path("dst"))
	cmd.Stderr = c.program
	must(t, cmd.Start())
	ended := func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() }
	t.Cleanup(sync.OnceFunc(ended))
	waitFor(t, "it consumes", func() bool { return strings.Contains(c.text(), "consuming") }, c.text)
	h.run(0, "", "sr_post", "-pb", node, "-pbu", s.URL+"/", "-pbd", h.path("src"), "-p", h.path("src/big"))
	waitFor(t, "a line of the transfer", func() bool { return strings.Contains(c.text(), "\rbig 50% 1.0 MiB 0 B/s\x1b[K") }, c.text)
	close(half)
	waitFor(t, "the file", func() bool { return strings.Contains(c.text(), "fetched path") }, c.text)
	for line := range strings.Lines(c.text()) {
		if i := strings.Index(line, "20"); strings.Contains(line, "[INFO]") && i > 0 && !strings.HasSuffix(line[:i], "\x1b[K") {
			t.Errorf("a line of the log begins in the middle: %q", line)
		}
	}
}
