package test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// deadline is how long any condition may take to come true.
const deadline = 30 * time.Second

// waitFor returns once ok does; it fails the test after the deadline, with what explain says.
func waitFor(t testing.TB, what string, ok func() bool, explain ...func() string) {
	t.Helper()
	waitWithin(t, deadline, what, ok, explain...)
}

// waitWithin is waitFor with another deadline.
func waitWithin(t testing.TB, deadline time.Duration, what string, ok func() bool, explain ...func() string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(deadline); time.Now().Before(end); <-tick.C {
		if ok() {
			return
		}
	}
	var why []string
	for _, e := range explain {
		why = append(why, e())
	}
	t.Fatalf("%s: still not after %v\n%s", what, deadline, strings.Join(why, "\n"))
}

// A host is a machine of its own for some commands: home and working directory.
type host struct {
	t    testing.TB
	dir  string
	uid  uint32 // of its processes; 0: as the test
	runs int
}

func newHost(t testing.TB) *host {
	t.Helper()
	return &host{t: t, dir: t.TempDir()}
}

// path is a path of the host.
func (h *host) path(name ...string) string {
	return filepath.Join(append([]string{h.dir}, name...)...)
}

// write makes a file with its directories.
func (h *host) write(name, content string) {
	h.t.Helper()
	p := h.path(name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(bin, name), args...)
	cmd.Dir = h.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.path("home"), "TMPDIR=" + os.TempDir(),
		"GORACE=atexit_sleep_ms=0"} // else each ends a second late under the race detector
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if h.uid != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: h.uid, Gid: h.uid}
	}
	return cmd
}

// run runs a command to its end and returns what it said; its status must be want.
func (h *host) run(want int, stdin, name string, args ...string) (stdout, stderr string) {
	h.t.Helper()
	cmd := h.command(name, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	_ = cmd.Run() // its status is looked at below
	if got := cmd.ProcessState.ExitCode(); got != want {
		h.t.Fatalf("%s %q: exit status %d, not %d\n%s", name, args, got, want, errs.String())
	}
	return out.String(), errs.String()
}

// A running command, with its log in a file.
type running struct {
	t     testing.TB
	cmd   *exec.Cmd
	name  string
	log   string
	ended chan struct{}
}

// start runs a command in the background; it is killed when the test ends.
func (h *host) start(name string, args ...string) *running {
	h.t.Helper()
	h.runs++
	r := &running{t: h.t, name: name, log: h.path(fmt.Sprintf("%s.%d.log", name, h.runs)), ended: make(chan struct{})}
	f, err := os.Create(r.log)
	if err != nil {
		h.t.Fatal(err)
	}
	defer f.Close()
	r.cmd = h.command(name, args...)
	r.cmd.Stdout, r.cmd.Stderr = f, f
	if err := r.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { _ = r.cmd.Wait(); close(r.ended) }()
	h.t.Cleanup(r.kill)
	return r
}

// kill is kill -9.
func (r *running) kill() {
	select {
	case <-r.ended:
	default:
		_ = r.cmd.Process.Kill()
		<-r.ended
	}
	if log := r.text(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic:") {
		r.t.Errorf("%s: %s", r.name, log)
	}
}

// stop tells the command to end, and waits until it has, with a status of 0 or want.
func (r *running) stop(want ...int) {
	r.t.Helper()
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	waitFor(r.t, r.name+" does not stop", r.over, r.text)
	got := r.cmd.ProcessState.ExitCode()
	for _, w := range append(want, 0) {
		if got == w {
			return
		}
	}
	r.t.Errorf("%s: exit status %d\n%s", r.name, got, r.text())
}

func (r *running) over() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// text is the log so far.
func (r *running) text() string {
	b, _ := os.ReadFile(r.log)
	return string(b)
}

// says reports whether the log holds the pattern.
func (r *running) says(pattern string) bool {
	return regexp.MustCompile("(?m)" + pattern).MatchString(r.text())
}

// await waits until the log holds the pattern.
func (r *running) await(pattern string) {
	r.t.Helper()
	waitFor(r.t, fmt.Sprintf("%s does not say %q", r.name, pattern), func() bool {
		if r.over() && !r.says(pattern) {
			r.t.Fatalf("%s ended without saying %q:\n%s", r.name, pattern, r.text())
		}
		return r.says(pattern)
	}, r.text)
}
