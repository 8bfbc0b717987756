package cli

import (
	"errors"
	"fmt"

	"srpump/pump/daemon"
)

// explainBusy says who holds the state directory, and what to do.
func (s *session) explainBusy(err error) error {
	var b *daemon.Busy
	if !errors.As(err, &b) {
		return err
	}
	return fmt.Errorf("cannot run %s %s: %w: give this one a configuration of its own, or state_dir", s.program, s.cfg.Name, err)
}

// strange refuses to run what another program runs: both would take from one queue.
func (s *session) strange(pid int) error {
	return fmt.Errorf("cannot run %s %s: %w: process %d of another program runs it; stop that first", s.program, s.cfg.Name, daemon.ErrBusy, pid)
}

// lockState takes the state directory for as long as something is done to it that no
// process that runs must see.
func (s *session) lockState() (release func(), err error) {
	lock, err := daemon.Take(s.cfg.State(), s.instance)
	if err != nil {
		return nil, fmt.Errorf("cannot touch what %s %s has: %w; %[1]s stop %[2]s first", s.program, s.cfg.Name, err)
	}
	return func() { lock.Release() }, nil
}
