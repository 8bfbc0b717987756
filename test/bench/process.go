package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// patience is how long any one run may take.
const patience = 10 * time.Minute

// command is a program with an environment in which no configuration of the
// user is found. It ends with this process.
func (b *bed) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	line := append(append(append([]string{}, b.within...), program), args...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	home := filepath.Join(b.disk, "home")
	cmd.Dir = b.disk
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + home, "LANG=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// finish runs a program to its end and returns what it printed and the time
// from its start to its end.
func (b *bed) finish(ctx context.Context, program string, args ...string) (string, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := b.command(ctx, program, args...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil {
		return "", 0, fmt.Errorf("cannot run %q: %w: %s", filepath.Base(program), err, tail(complaint.Bytes()))
	}
	return out.String(), took, nil
}

// A running program writes what it has to say into a file.
type running struct {
	cmd   *exec.Cmd
	log   *os.File
	since time.Time
	ended chan struct{}
	err   error // valid when ended
}

func (b *bed) start(ctx context.Context, program string, args ...string) (*running, error) {
	log, err := os.Create(filepath.Join(b.disk, filepath.Base(program)+".log"))
	if err != nil {
		return nil, err
	}
	r := &running{cmd: b.command(ctx, program, args...), log: log, ended: make(chan struct{})}
	r.cmd.Stdout, r.cmd.Stderr = log, log
	r.since = time.Now()
	if err := r.cmd.Start(); err != nil {
		log.Close()
		return nil, fmt.Errorf("cannot start %q: %w", program, err)
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.ended)
	}()
	return r, nil
}

// stop ends the program with SIGTERM and waits for it.
func (r *running) stop() error {
	defer r.log.Close()
	_ = r.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-r.ended:
	case <-time.After(30 * time.Second):
		_ = r.cmd.Process.Kill()
		<-r.ended
		return fmt.Errorf("cannot stop %q: it does not heed SIGTERM", r.cmd.Args[0])
	}
	return nil
}

// fault is why a program ended that should run.
func (r *running) fault() error {
	return fmt.Errorf("%q ended too early: %v: %s", filepath.Base(r.cmd.Path), r.err, tail(r.said()))
}

func (r *running) said() []byte {
	size, err := r.log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil
	}
	text := make([]byte, min(size, 4096))
	n, _ := r.log.ReadAt(text, size-int64(len(text)))
	return text[:n]
}

// resident is a figure of /proc/PID/status, such as VmRSS or VmHWM, in MiB;
// zero when the program is gone.
func (r *running) resident(field string) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), field+":")
	var kib float64
	_, _ = fmt.Sscan(rest, &kib) // a zombie has no such field
	return kib / 1024
}

func tail(said []byte) []byte {
	said = bytes.TrimSpace(said)
	return said[max(0, len(said)-1000):]
}

// settle writes out what earlier runs left in memory, so that no run pays for
// another one.
func (b *bed) settle(ctx context.Context, dir string) error {
	_, _, err := b.finish(ctx, "sync", "-f", dir)
	return err
}
