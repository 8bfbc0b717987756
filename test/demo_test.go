package test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// The demonstration ends by itself, well, and leaves nothing but its folder.
func TestDemo(t *testing.T) {
	script, err := filepath.Abs("../demo/run.sh")
	must(t, err)
	dir := t.TempDir()
	cmd := exec.Command("/bin/sh", script, bin)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "nothing-here"))
	if !long() {
		cmd.Env = append(cmd.Env, "SRPUMP_DEMO_FILES=200")
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`equal by sha256: \d+ files`, `40 files added, 20 changed, 10 removed`, `[1-9]\d* duplicates winnowed`, `files/s`} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	left, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range left {
		if !regexp.MustCompile(`^demo-\d+-\d+-\d+$`).MatchString(e.Name()) && e.Name() != "nothing-here" {
			t.Errorf("left behind: %s", e.Name())
		}
	}
	t.Logf("%s", out)
}

// Interrupted, the demonstration ends every process it started.
func TestDemoInterrupted(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			script, err := filepath.Abs("../demo/run.sh")
			must(t, err)
			h := newHost(t)
			cmd := exec.Command("/bin/sh", script, bin)
			cmd.Dir, cmd.Env = h.dir, append(os.Environ(), "SRPUMP_DEMO_FILES=200")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out, err := os.Create(h.path("out"))
			must(t, err)
			defer out.Close()
			cmd.Stdout, cmd.Stderr = out, out
			must(t, cmd.Start())
			said := func() string { b, _ := os.ReadFile(h.path("out")); return string(b) }
			waitFor(t, "its start", func() bool { return strings.Contains(said(), "are running") }, said)
			must(t, syscall.Kill(-cmd.Process.Pid, sig)) // as a terminal sends it
			_ = cmd.Wait()
			if cmd.ProcessState.Success() {
				t.Errorf("it ended as if all was well:\n%s", said())
			}
			waitFor(t, "its processes to end", func() bool { return errors.Is(syscall.Kill(-cmd.Process.Pid, 0), syscall.ESRCH) }, said)
		})
	}
}
