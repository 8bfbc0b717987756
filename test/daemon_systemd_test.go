package test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What systemd hears of a flow: that it is ready, alive, reads its configuration again, and stops.
func TestNotify(t *testing.T) {
	h := newDaemonHost(t)
	h.configure("subscribe", "x", "directory "+h.path("in")+"\n")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: h.path("notify"), Net: "unixgram"})
	must(t, err)
	defer l.Close()
	cmd := h.command("sr", "foreground", "subscribe/x")
	cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+h.path("notify"), "WATCHDOG_USEC=100000")
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	hear := func(want string) {
		t.Helper()
		b := make([]byte, 4096)
		must(t, l.SetReadDeadline(time.Now().Add(deadline)))
		for {
			n, err := l.Read(b)
			if err != nil {
				t.Fatalf("systemd does not hear %q: %v", want, err)
			}
			if strings.HasPrefix(string(b[:n]), want) {
				return
			}
		}
	}
	hear("READY=1")
	hear("STATUS=running")
	hear("WATCHDOG=1")
	hear("WATCHDOG=1")
	must(t, cmd.Process.Signal(syscall.SIGHUP))
	hear("RELOADING=1\nMONOTONIC_USEC=")
	hear("READY=1")
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	hear("STOPPING=1")
	must(t, cmd.Wait())
}

// systemd finds nothing wrong with the unit, as it is installed.
func TestUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	unit, err := os.ReadFile("../dist/systemd/srpump@.service")
	must(t, err)
	h := newHost(t)
	h.write("srpump@subscribe-radar.service", strings.ReplaceAll(string(unit), "@BIN@", bin))
	out, err := exec.Command(analyze, "verify", "--man=no", h.path("srpump@subscribe-radar.service")).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "srpump@") {
			t.Errorf("%v: %s", err, line)
		}
	}
}
