package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"srpump/pump"
	"srpump/pump/config"
)

// errSome is a run that went through but not all of it.
var errSome = errors.New("not everything could be done")

func (s *session) post(ctx context.Context) error {
	p, err := pump.NewPoster(s.cfg, s.host())
	if err != nil {
		return usageError{err}
	}
	paths := s.cfg.Values.List("path")
	if len(paths) == 0 {
		return usagef("nothing to announce: name files or directories, or - for a list on standard input")
	}
	s.announceLocal("post_broker")
	stop := s.progress(&p.Counters, progressPost)
	defer stop()
	if s.preset == config.Watch {
		return p.Watch(ctx, paths)
	}
	start := time.Now()
	err = p.Post(ctx, paths)
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	n := &p.Counters
	s.log.Info("posted", "files", n.Announced.Load(), "bytes", n.Bytes.Load(), "removed", n.Removed.Load(), "failed", n.Failed.Load(),
		"rejected", n.Rejected.Load(), "known", n.Winnowed.Load(), "seconds", seconds(time.Since(start)))
	if k := n.Failed.Load(); k > 0 {
		return fmt.Errorf("%w: %d paths failed", errSome, k)
	}
	return nil
}

var errInterrupted = errors.New("interrupted before everything was announced")

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func (s *session) flow(ctx context.Context) error {
	f, err := pump.NewFlow(s.cfg, s.host())
	if err != nil {
		return usageError{err}
	}
	s.announceLocal("broker")
	if !f.Ephemeral() {
		release, err := s.lockState()
		if err != nil {
			return err
		}
		defer release()
	}
	stop := s.progress(&f.Counters, progressFlow)
	defer stop()
	if err := f.Run(ctx); err != nil {
		return err
	}
	if k := f.Counters.GivenUp.Load() + f.Counters.Malformed.Load(); k > 0 {
		return fmt.Errorf("%w: %d announcements are in %s", errSome, k, f.DeadLetters())
	}
	return nil
}

// usagef is an error that ends with ExitUsage.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// A usageError is a command line or configuration that cannot be used, found before anything
// was done.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }
