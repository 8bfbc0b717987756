package test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// However many start a configuration at once, one process runs it, and all are told so.
func TestStartAtOnce(t *testing.T) {
	h := newDaemonHost(t)
	h.configure("subscribe", "x", "directory "+h.path("in")+"\n")
	const starts = 20
	cmds := make([]*exec.Cmd, starts)
	outs := make([]bytes.Buffer, starts)
	for i := range cmds {
		cmds[i] = h.command("sr_subscribe", "start", "x")
		cmds[i].SysProcAttr = nil // what it starts is not its child for long
		cmds[i].Stdout, cmds[i].Stderr = &outs[i], &outs[i]
	}
	var all sync.WaitGroup
	for _, c := range cmds {
		all.Go(func() { _ = c.Run() })
	}
	all.Wait()
	started, pids := 0, make(map[int]bool)
	for i, c := range cmds {
		text := outs[i].String()
		if c.ProcessState.ExitCode() != 0 {
			t.Errorf("exit status %d: %s", c.ProcessState.ExitCode(), text)
			continue
		}
		pids[pidOf(t, text)] = true
		if strings.Contains(text, "x started") {
			started++
		}
	}
	if running := h.processes(); started != 1 || len(pids) != 1 || len(running) != 1 || !pids[running[0]] {
		t.Errorf("%d say they started it, of processes %v; running are %v", started, pids, running)
	}
}

// After a kill -9 the next start takes over; so does sanity, which leaves what was stopped alone.
func TestStartAfterKill(t *testing.T) {
	h := newDaemonHost(t)
	h.configure("subscribe", "x", "directory "+h.path("in")+"\n")
	h.configure("subscribe", "never", "directory "+h.path("in")+"\n")
	out, _ := h.run(0, "", "sr_subscribe", "start", "x")
	first := pidOf(t, out)
	must(t, syscall.Kill(first, syscall.SIGKILL))
	gone(t, first)
	if s := h.status(1); s.Missing != 1 || s.Processes != 0 {
		t.Errorf("%+v", s)
	}
	out, _ = h.run(0, "", "sr_subscribe", "start", "x")
	second := pidOf(t, out)
	must(t, syscall.Kill(second, syscall.SIGKILL))
	gone(t, second)
	out, _ = h.run(0, "", "sr", "sanity")
	if third := pidOf(t, out); third == second || len(h.processes()) != 1 {
		t.Errorf("sanity said %q", out)
	}
	h.run(0, "", "sr_subscribe", "stop", "x")
	if out, _ := h.run(0, "", "sr", "sanity"); out != "" || len(h.processes()) != 0 {
		t.Errorf("sanity started what was stopped: %q", out)
	}
}

// A number in a pid file whose bearer is a stranger by now is nobody's; the stranger lives on.
func TestStalePid(t *testing.T) {
	h := newDaemonHost(t)
	h.configure("subscribe", "x", "directory "+h.path("in")+"\n")
	stranger := exec.Command("sleep", "600")
	must(t, stranger.Start())
	t.Cleanup(func() { _ = stranger.Process.Kill(); _ = stranger.Wait() })
	for i := range 2 {
		h.write(fmt.Sprintf("home/.cache/sarra/subscribe/x/sr_subscribe_x_%02d.pid", i+1), strconv.Itoa(stranger.Process.Pid))
	}
	h.run(0, "", "sr_subscribe", "stop", "x")
	for i := range 2 {
		h.write(fmt.Sprintf("home/.cache/sarra/subscribe/x/sr_subscribe_x_%02d.pid", i+1), strconv.Itoa(stranger.Process.Pid))
	}
	out, _ := h.run(0, "", "sr_subscribe", "start", "x")
	b, err := os.ReadFile(h.state("x", "sr_subscribe_x_01.pid"))
	if err != nil || string(b) != strconv.Itoa(pidOf(t, out)) {
		t.Errorf("pid file %q, %v; said %q", b, err, out)
	}
	if _, err := os.Stat(h.state("x", "sr_subscribe_x_02.pid")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the stale one stays")
	}
	h.run(0, "", "sr_subscribe", "stop", "x")
	must(t, stranger.Process.Signal(syscall.Signal(0)))
}

// A live process of v02 is never doubled, nor touched.
func TestPythonAlive(t *testing.T) {
	h := newDaemonHost(t)
	h.configure("subscribe", "x", "directory "+h.path("in")+"\n")
	python := exec.Command("/bin/sh", "-c", "read x", "/usr/bin/sr_subscribe", "--no", "1", "start", "x")
	python.Args[0] = "python3"
	in, err := python.StdinPipe()
	must(t, err)
	must(t, python.Start())
	h.write("home/.cache/sarra/subscribe/x/sr_subscribe_x_01.pid", strconv.Itoa(python.Process.Pid))
	for _, action := range []string{"start", "foreground"} {
		_, errs := h.run(4, "", "sr_subscribe", action, "x")
		if !strings.Contains(errs, fmt.Sprintf("process %d of another program runs it", python.Process.Pid)) {
			t.Errorf("%s said %q", action, errs)
		}
	}
	h.run(1, "", "sr_subscribe", "stop", "x")
	if s := h.status(1); s.Stray != 1 || s.Configurations[0].PID != python.Process.Pid {
		t.Errorf("%+v", s)
	}
	must(t, in.Close())
	_ = python.Wait()
	h.run(0, "", "sr_subscribe", "start", "x")
}

// A broker that is away does not make a start fail; status says so, and why.
func TestStartWithoutBroker(t *testing.T) {
	h := newDaemonHost(t)
	h.configure("subscribe", "x", "broker amqp://guest:SECRET@127.0.0.1:1/\ndirectory "+h.path("in")+"\n")
	_, errs := h.run(0, "", "sr_subscribe", "start", "x")
	if !strings.Contains(errs, "is started and waits for its broker") || !strings.Contains(errs, "connection refused") {
		t.Errorf("said %q", errs)
	}
	s := h.status(1)
	if c := s.Configurations[0]; c.State != "unreachable" || !strings.Contains(c.Progress.Trouble, "connection refused") {
		t.Errorf("%+v", c)
	}
	out, _ := h.run(1, "", "sr_subscribe", "status")
	if !strings.Contains(out, "broker unreachable since ") {
		t.Errorf("said %q", out)
	}
	h.run(0, "", "sr_subscribe", "sanity")
	if strings.Contains(h.secrets(), "SECRET") {
		t.Error("the password is told")
	}
}

// secrets is all that is written below the state directory and on command lines.
func (h *host) secrets() string {
	var b strings.Builder
	_ = filepath.WalkDir(h.path("home/.cache"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, _ := os.ReadFile(p)
			b.Write(text)
		}
		return nil
	})
	for _, pid := range h.processes() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		b.Write(line)
	}
	return b.String()
}

// One broken configuration of many does not keep the others from running.
func TestHostOfThirty(t *testing.T) {
	h := newDaemonHost(t)
	for i := range 30 {
		h.configure("subscribe", fmt.Sprintf("c%02d", i), "directory "+h.path("in")+"\n")
	}
	h.configure("subscribe", "c17", "instances many\n")
	_, errs := h.run(2, "", "sr", "start")
	if strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "c17.conf:1") {
		t.Errorf("said %q", errs)
	}
	s := h.status(1)
	if s.Running != 29 || s.Processes != 29 || len(s.Configurations) != 30 || s.Missing+s.Stray != 0 {
		t.Errorf("%+v", s)
	}
	for _, c := range s.Configurations {
		if c.Good != (c.Config != "c17") || c.Good && c.State != "running" {
			t.Errorf("%+v", c)
		}
	}
	h.run(0, "", "sr", "stop")
	if left := h.processes(); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
}
