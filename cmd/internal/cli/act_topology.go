package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"srpump/pump/config"
	"srpump/pump/daemon"
)

// topologyActions declare and delete what the broker holds for a configuration.
func topologyActions(p config.Preset) []action {
	if p&(config.Audit|config.Serve) != 0 {
		return nil
	}
	takesAway := "delete its queue, its unused exchange and its state"
	if p == config.Spool { // its exchange is others'
		takesAway = "delete its queue and its state"
	}
	return []action{
		{"declare", "[config]", "make its queue and exchange on the broker", func(ctx context.Context, s *session, args []string) error {
			return s.eachConfig(args, func() error { return s.atBroker(ctx, topology.Declare) })
		}},
		{"setup", "[config]", "the same, and bind the queue", func(ctx context.Context, s *session, args []string) error {
			return s.eachConfig(args, func() error { return s.atBroker(ctx, topology.Setup) })
		}},
		{"cleanup", "config", takesAway, func(ctx context.Context, s *session, args []string) error {
			return s.cleanup(ctx, args)
		}},
	}
}

// eachConfig does something with the configuration that is named, or with each of the component that
// is enabled. One that fails does not keep the others from their turn; the first failure is returned.
func (s *session) eachConfig(args []string, do func() error) error {
	if len(args) > 0 || given(s.words, "config") {
		return s.withConfig(args, do)
	}
	names, err := filepath.Glob(filepath.Join(s.Env.ConfigDir(), s.preset.String(), "*.conf"))
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return usagef("no configuration named, and none in %s", filepath.Join(s.Env.ConfigDir(), s.preset.String()))
	}
	var first error
	for _, path := range names {
		if err := s.withConfig([]string{path}, do); err != nil {
			if !errors.Is(err, errSaid) {
				s.fail(err)
			}
			if first == nil {
				first = errors.Join(errSaid, err)
			}
		}
	}
	return first
}

// everyConfig does something with each enabled configuration of every component of this host. One that
// fails does not keep the others from their turn.
func (s *session) everyConfig(do func(*session) error) error {
	var errs []error
	for _, p := range Commands() {
		names, err := filepath.Glob(filepath.Join(s.Env.ConfigDir(), p.String(), "*.conf"))
		if err != nil || len(topologyActions(p)) == 0 {
			continue
		}
		for _, path := range names {
			t := &session{say: say{p.Program(), s.Stderr}, Process: s.Process, preset: p}
			err := t.withConfig([]string{path}, func() error { return do(t) })
			if err != nil && !errors.Is(err, errSaid) {
				t.fail(err)
			}
			if err != nil {
				errs = append(errs, errSaid, err)
			}
		}
	}
	return errors.Join(errs...)
}

// withConfig reads one configuration and does something with it.
func (s *session) withConfig(args []string, do func() error) error {
	if !s.load(s.words, args) {
		return usageError{errSaid}
	}
	if len(s.paths) > 0 {
		return usagef("too many arguments: %q", strings.Join(s.paths, " "))
	}
	s.log = newLog(s.Stderr, level(s.cfg.Values), s.logFormat())
	return do()
}

// cleanup asks for the name of one configuration, and for nobody to run it.
func (s *session) cleanup(ctx context.Context, args []string) error {
	if len(args) == 0 && !given(s.words, "config") {
		return usagef("cleanup needs the name of one configuration")
	}
	return s.withConfig(args, func() error {
		if _, err := os.Stat(s.cfg.State().Dir()); err == nil {
			release, err := s.lockState()
			if err != nil {
				return err
			}
			defer release()
			if pid, found := daemon.Stranger(s.cfg.State()); found {
				return s.strange(pid)
			}
		}
		return s.atBroker(ctx, topology.Cleanup)
	})
}
