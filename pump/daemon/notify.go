package daemon

import (
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// A Supervisor is systemd, or nobody. It hears through datagrams of lines NAME=value, see
// sd_notify(3).
type Supervisor struct {
	conn  net.Conn
	every time.Duration
}

// TheSupervisor returns the supervisor the environment names; an abstract socket is written
// with an @. The variables are taken out of the environment: they are not for children.
func TheSupervisor() *Supervisor {
	name := os.Getenv("NOTIFY_SOCKET")
	every := watchdogEvery(os.Getenv("WATCHDOG_USEC"), os.Getenv("WATCHDOG_PID"), os.Getpid())
	for _, v := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		os.Unsetenv(v)
	}
	if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "@") {
		return &Supervisor{}
	}
	conn, err := net.Dial("unixgram", name) // package net knows @ for abstract
	if err != nil {
		return &Supervisor{}
	}
	return &Supervisor{conn, every}
}

// watchdogEvery is half of what the supervisor waits for a sign of life; 0 when it does not.
func watchdogEvery(usec, pid string, me int) time.Duration {
	n, err := strconv.ParseInt(usec, 10, 64)
	if err != nil || n <= 0 || pid != "" && pid != strconv.Itoa(me) {
		return 0
	}
	return time.Duration(n) * time.Microsecond / 2
}

// Present reports whether there is a supervisor.
func (s *Supervisor) Present() bool { return s.conn != nil }

// WatchdogEvery is how often it wants a sign of life; 0 is never.
func (s *Supervisor) WatchdogEvery() time.Duration { return s.every }

// Ready says that the process works, also after a reload.
func (s *Supervisor) Ready() { s.tell("READY=1") }

// Reloading says that the process reads its configuration again; Ready follows.
func (s *Supervisor) Reloading() {
	s.tell("RELOADING=1", "MONOTONIC_USEC="+strconv.FormatInt(Uptime().Microseconds(), 10))
}

// Stopping says that the process is about to end.
func (s *Supervisor) Stopping() { s.tell("STOPPING=1") }

// Alive is the sign of life.
func (s *Supervisor) Alive() { s.tell("WATCHDOG=1") }

// Status is one line for people.
func (s *Supervisor) Status(text string) { s.tell("STATUS=" + strings.ReplaceAll(text, "\n", " ")) }

func (s *Supervisor) tell(lines ...string) {
	if s.conn != nil {
		_, _ = s.conn.Write([]byte(strings.Join(lines, "\n"))) // it must not keep anything from running
	}
}
