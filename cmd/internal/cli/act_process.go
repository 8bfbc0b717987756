package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"srpump/pump/config"
	"srpump/pump/daemon"
)

// processActions start, stop and watch over a configuration.
func processActions(p config.Preset) []action {
	if p == config.Post {
		return nil
	}
	each := func(do func(*session, context.Context, target) error) func(context.Context, *session, []string) error {
		return func(ctx context.Context, s *session, args []string) error { return s.eachTarget(ctx, args, do) }
	}
	return []action{
		{"start", "[config]", "run it in the background", startAction},
		{"stop", "[config]", "end the process that runs it", each((*session).stop)},
		{"restart", "[config]", "stop it and start it", each((*session).restart)},
		{"reload", "[config]", "have the process read the configuration again", each((*session).reload)},
		{"status", "[config]", "say whether it runs", each((*session).status)},
		{"sanity", "[config]", "start again what was started and died or hangs", each((*session).sanity)},
	}
}

// startAction starts processes, or with the option no is the process that was started.
func startAction(ctx context.Context, s *session, args []string) error {
	if n := s.option("no"); n != "" && n != "0" {
		return s.runInstance(ctx, args)
	}
	return s.eachTarget(ctx, args, (*session).start)
}

// sayf is the answer to who asked, on standard output.
func (s *session) sayf(format string, args ...any) {
	fmt.Fprintln(s.Stdout, oneLine(fmt.Sprintf(format, args...)))
}

// stopPatience is how long a process may take to end before it is killed.
const stopPatience = 10 * time.Second

// stop ends the process, and says that the configuration is not meant to run. One that does
// not run is stopped.
func (s *session) stop(_ context.Context, t target) error {
	h, held, err := daemon.Find(t.st)
	if err != nil {
		return err
	}
	if !held {
		if pid, found := daemon.Stranger(t.st); found {
			return fmt.Errorf("cannot stop %s %s: process %d of another program runs it; stop it with that", s.program, t.name, pid)
		}
		s.sayf("%s %s is not running", s.program, t.name)
		return daemon.Forget(t.st)
	}
	killed, err := h.End(stopPatience)
	if err != nil {
		return err
	}
	if killed {
		s.warningf("%s %s: process %d did not end in %v and was killed; nothing is lost, some may be done twice", s.program, t.name, h.PID, stopPatience)
	}
	s.sayf("%s %s stopped (pid=%d)", s.program, t.name, h.PID)
	return daemon.Forget(t.st)
}

// restart leaves alone what somebody runs in the foreground: it would not come back there.
func (s *session) restart(ctx context.Context, t target) error {
	if h, held, err := daemon.Find(t.st); err == nil && held && h.Instance == 0 {
		return fmt.Errorf("cannot restart %s %s: process %d runs it in the foreground; restart it where it was started", s.program, t.name, h.PID)
	}
	switch { // what runs is better than nothing
	case t.bad:
		return usageError{errSaid}
	case t.gone:
		return usagef("cannot restart %s %s: its configuration is gone; stop ends it", s.program, t.name)
	}
	if err := s.stop(ctx, t); err != nil {
		return err
	}
	return s.start(ctx, t)
}

// reload tells the process to read its configuration again. What it finds wrong it logs.
func (s *session) reload(_ context.Context, t target) error {
	if t.bad {
		return usageError{errSaid}
	}
	h, held, err := daemon.Find(t.st)
	switch {
	case t.gone || t.disabled:
		return usagef("cannot reload %s %s: its configuration is gone or disabled", s.program, t.name)
	case err != nil:
		return err
	case !held:
		return fmt.Errorf("cannot reload %s %s: it is not running", s.program, t.name)
	}
	if err := h.Signal(syscall.SIGHUP); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot reload %s %s: %w", s.program, t.name, err)
	}
	s.sayf("%s %s is told to read its configuration again (pid=%d)", s.program, t.name, h.PID)
	return nil
}

// errNotRunning is the status of what should run and does not.
var errNotRunning = errors.New("not running")

// status prints one line; what does not run, or does not work, is a failure.
func (s *session) status(_ context.Context, t target) error {
	l := t.look()
	if l.err != nil {
		return l.err
	}
	s.sayf("%s %s %02d is %s", s.program, t.name, max(l.instance, daemon.Started), l)
	if l.state != stateRunning && l.state != stateDisabled {
		return errors.Join(errSaid, errNotRunning)
	}
	return nil
}

// sanity starts again what was started and is dead or hangs. What somebody runs in the
// foreground is his, and what has no configuration any more would not come back.
func (s *session) sanity(ctx context.Context, t target) error {
	l := t.look()
	switch {
	case l.err != nil:
		return l.err
	case l.state == stateStopped && daemon.Wanted(t.st):
		s.warningf("%s %s was started and is dead", s.program, t.name)
	case l.state == stateHung && l.instance > 0 && !t.gone:
		s.warningf("%s %s hangs (pid=%d)", s.program, t.name, l.pid)
		if h, held, err := daemon.Find(t.st); err == nil && held {
			if _, err := h.End(stopPatience); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	return s.start(ctx, t)
}
