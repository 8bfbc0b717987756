package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

var errBusy = errors.New("its state directory is in use")

// lockState takes the state directory for this process; the kernel gives it back when
// the process ends, however it ends.
func (s *session) lockState() (release func(), err error) {
	dir := s.cfg.State().Dir()
	if err := os.MkdirAll(dir, 0o775); err != nil {
		return nil, fmt.Errorf("cannot keep state: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "instance.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot keep state: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		pid, _ := os.ReadFile(f.Name())
		f.Close()
		who := string(bytes.TrimSpace(pid))
		if who == "" {
			who = "that has just begun"
		}
		return nil, fmt.Errorf("cannot run %s %s: %w by process %s (%s): give this one a configuration of its own, or state_dir", s.program, s.cfg.Name, errBusy, who, dir)
	}
	// The number is for people; what counts is the lock.
	if err := f.Truncate(0); err == nil {
		fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	return func() { f.Close() }, nil
}
