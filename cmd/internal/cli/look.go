package cli

import (
	"fmt"
	"time"

	"srpump/pump/daemon"
)

// The states of a configuration, as status and sr(1) say them.
const (
	stateStopped     = "stopped"
	stateRunning     = "running"
	stateDisabled    = "disabled"
	stateStarting    = "starting"
	stateUnreachable = "unreachable"
	stateHung        = "hung"
	stateUnknown     = "unknown"
)

// A look is what can be seen of a configuration from outside.
type look struct {
	state    string
	pid      int
	instance int
	gone     bool // its file is
	disabled bool // its file is, and it runs all the same
	progress *daemon.Progress
	stranger bool  // a process of another program runs it
	err      error // why nothing can be seen
}

// look looks at the lock, and at what its holder says of itself.
func (t target) look() look {
	h, held, err := daemon.Find(t.st)
	switch {
	case err != nil:
		return look{state: stateUnknown, err: err}
	case !held:
		return t.lookAtDead()
	}
	l := look{state: stateRunning, pid: h.PID, instance: h.Instance, gone: t.gone, disabled: t.disabled}
	p, err := daemon.ReadProgress(t.st)
	if err != nil || p.PID != h.PID {
		l.state = stateStarting // it has said nothing yet
		return l
	}
	l.progress = &p
	switch {
	case p.Hung(daemon.Uptime(), t.limit):
		l.state = stateHung
	case !p.Unreachable.IsZero():
		l.state = stateUnreachable
	case p.State == daemon.Connecting:
		l.state = stateStarting
	}
	return l
}

func (t target) lookAtDead() look {
	if pid, found := daemon.Stranger(t.st); found {
		return look{state: stateRunning, pid: pid, stranger: true}
	}
	if t.disabled {
		return look{state: stateDisabled}
	}
	return look{state: stateStopped}
}

// String is the end of the sentence "sr_subscribe radar 01 is …".
func (l look) String() string {
	if l.pid == 0 {
		return l.state
	}
	s := fmt.Sprintf("running (pid=%d)", l.pid)
	switch l.state {
	case stateHung:
		s = fmt.Sprintf("hung (pid=%d)", l.pid)
	case stateStarting:
		s = fmt.Sprintf("starting (pid=%d)", l.pid)
	case stateUnreachable:
		s += ", broker unreachable since " + l.progress.Unreachable.Format(time.DateTime) + ": " + l.progress.Trouble
	}
	if l.progress != nil && !l.progress.Paused.IsZero() {
		s += ", paused since " + l.progress.Paused.Format(time.DateTime) + ": " + l.progress.PausedFor
	}
	if l.instance == 0 && !l.stranger {
		s += ", in the foreground"
	}
	for _, note := range []struct {
		is   bool
		text string
	}{{l.stranger, "by another program"}, {l.gone, "its configuration is gone"}, {l.disabled, "its configuration is disabled"}} {
		if note.is {
			s += ", " + note.text
		}
	}
	return s
}
