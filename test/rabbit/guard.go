package rabbit

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// A guarded program runs in a process group of its own, beside a shell that
// kills the group as soon as its standard input ends: that is, when we close
// it or when this process is gone, even by kill -9.
type guarded struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed when the group's leader is gone
}

// The leader also ends, and takes the group along, when the program does.
const guardScript = `"$@" </dev/null & pid=$!
( read -r _; kill -9 0 ) <&3 3<&- &
exec 3<&-
wait "$pid"; kill -9 0`

func guard(log string, env []string, program string, args ...string) (*guarded, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open log of %q: %w", program, err)
	}
	defer out.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot guard %q: %w", program, err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", append([]string{"-c", guardScript, "guard", program}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, out, out
	cmd.ExtraFiles = []*os.File{r}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("cannot start %q: %w", program, err)
	}
	g := &guarded{cmd: cmd, stdin: w, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // always killed: its status says nothing
		close(g.ended)
	}()
	return g, nil
}

// kill ends the whole group at once and returns when its leader is gone.
func (g *guarded) kill() {
	select {
	case <-g.ended: // its number may belong to somebody else by now
	default:
		_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
		<-g.ended
	}
	g.stdin.Close()
}
