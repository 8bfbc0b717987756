package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"srpump/pump"
	"srpump/pump/adopt"
	"srpump/pump/config"
	"srpump/pump/daemon"
)

// errSome is a run that went through but not all of it.
var errSome = errors.New("not everything could be done")

func (s *session) post(ctx context.Context) error {
	p, err := s.newPoster()
	if err != nil {
		return err
	}
	s.announceLocal("post_broker")
	if adopt.Left(s.cfg) {
		if lock, err := daemon.Take(s.cfg.State(), 0); err == nil { // else another takes it over
			s.takeOver()
			lock.Release()
		}
	}
	stop := s.progress(&p.Counters, progressPost, nil)
	defer stop()
	start := time.Now()
	err = p.Post(ctx, s.cfg.Values.List("path"))
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	return s.posted(p, start)
}

// posted says what a poster that came to its end did.
func (s *session) posted(p *pump.Poster, start time.Time) error {
	n := &p.Counters
	s.log.Info("posted", "files", n.Announced.Load(), "bytes", n.Bytes.Load(), "removed", n.Removed.Load(), "failed", n.Failed.Load(),
		"rejected", n.Rejected.Load(), "known", n.Winnowed.Load(), "seconds", seconds(time.Since(start)))
	if k := n.Failed.Load(); k > 0 {
		return fmt.Errorf("%w: %s failed", errSome, count(k, "path", "paths"))
	}
	return nil
}

func (s *session) newPoster() (*pump.Poster, error) {
	p, err := pump.NewPoster(s.cfg, s.host())
	if err == nil {
		err = p.CheckPaths()
	}
	if err != nil {
		return nil, usageError{err}
	}
	return p, nil
}

var errInterrupted = errors.New("interrupted before everything was announced")

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// newWorker makes what runs for long of the configuration. It opens nothing.
func (s *session) newWorker() (worker, error) {
	switch s.preset {
	case config.Watch:
		p, err := s.newPoster()
		return &watching{p, s, s.cfg.Values.List("path")}, err
	case config.Audit:
		return &auditing{s: s}, nil
	}
	if s.preset == config.Serve {
		return s.newServing()
	}
	if s.preset == config.Spool {
		return s.newPipeline()
	}
	if s.preset == config.Poll {
		p, err := pump.NewPoster(s.cfg, s.host())
		if err == nil {
			err = p.CheckPoll()
		}
		if err != nil {
			return nil, usageError{err}
		}
		return &polling{p, s}, nil
	}
	f, err := pump.NewFlow(s.cfg, s.host())
	if err != nil {
		return nil, usageError{err}
	}
	return &flowing{f, s}, nil
}

// A watching is a poster as a worker.
type watching struct {
	*pump.Poster
	s     *session
	paths []string
}

// Ephemeral is a watcher without a configuration in the foreground: several directories may have
// one each.
func (w *watching) Ephemeral() bool { return w.s.cfg.Path == "" && w.s.instance == 0 }

func (w *watching) Run(ctx context.Context) error {
	w.s.announceLocal("post_broker")
	stop := w.s.progress(&w.Counters, progressPost, nil)
	defer stop()
	return w.Watch(ctx, w.paths)
}

// A polling is a poster that looks at a server. One that looks only once says what became of it.
type polling struct {
	*pump.Poster
	s *session
}

func (w *polling) Run(ctx context.Context) error {
	w.s.announceLocal("post_broker")
	stop := w.s.progress(&w.Counters, progressPost, nil)
	defer stop()
	start := time.Now()
	if err := w.Poll(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	return w.s.posted(w.Poster, start)
}

// A flowing is a flow as a worker: one that had to give something up has not done everything.
type flowing struct {
	*pump.Flow
	s *session
}

func (w *flowing) Run(ctx context.Context) error {
	w.s.announceLocal("broker")
	stop := w.s.progress(&w.Counters, progressFlow, func() []transferNow { return transfersOf(w) })
	defer stop()
	if err := w.Flow.Run(ctx); err != nil {
		return err
	}
	return w.undone()
}

// undone is what the flow gave up, for its last line.
func (w *flowing) undone() error {
	var parts []string
	if k := w.Counters.GivenUp.Load() + w.Counters.Malformed.Load(); k > 0 {
		parts = append(parts, fmt.Sprintf("%s in %s", count(k, "announcement is", "announcements are"), w.DeadLetters()))
	}
	if k := w.Counters.Incomplete.Load(); k > 0 {
		parts = append(parts, count(k, "file lacks blocks", "files lack blocks"))
	}
	if parts == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", errSome, strings.Join(parts, ", "))
}

// count is a number with what there is that many of.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// usagef is an error that ends with ExitUsage.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// A usageError is a command line or configuration that cannot be used, found before anything
// was done.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }
