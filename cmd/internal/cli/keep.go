package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"srpump/pump/adopt"
	"srpump/pump/broker"
	"srpump/pump/config"
	"srpump/pump/daemon"
)

type worker = daemon.Worker

// An ephemeral worker keeps no state that is its alone, so that any number of them may run.
type ephemeral interface{ Ephemeral() bool }

// keep runs a worker until it ends, under the lock of its state directory, and a new one
// whenever the configuration is to be read again.
func (s *session) keep(ctx context.Context) error {
	w, err := s.newWorker()
	if err != nil {
		return err
	}
	if e, ok := w.(ephemeral); ok && e.Ephemeral() {
		return w.Run(ctx)
	}
	st := s.cfg.State()
	lock, err := daemon.Take(st, s.instance)
	if err != nil {
		return s.explainBusy(err)
	}
	defer lock.Release()
	if pid, found := daemon.Stranger(st); found {
		return s.strange(pid)
	}
	s.takeOver()
	leave, err := s.enter(st)
	if err != nil {
		return err
	}
	s.pulse = newPulse(s, st)
	end := s.pulse.start(ctx)
	silence, aerr := daemon.Answer(st, func() any { return s.pulse.progressNow() })
	if aerr != nil {
		s.log.Warn("progress not written", "error", aerr)
		silence = func() {}
	}
	err = s.turns(ctx, w)
	silence()
	end()
	leave(err)
	return err
}

// takeOver reads what v02 has left, for which nobody else may have the lock. What cannot be taken
// over stays where it is, for the next start.
func (s *session) takeOver() {
	if err := adopt.Own(s.cfg, s.log, time.Now()); err != nil {
		s.log.Warn("not taken over", "error", err)
	}
}

// enter leaves the files of a started process; what it returns takes them back.
func (s *session) enter(st config.State) (leave func(error), err error) {
	if s.instance == 0 {
		return func(error) {}, nil
	}
	wanted := daemon.Wanted(st)
	if err := daemon.Enter(st, s.instances()); err != nil {
		return nil, fmt.Errorf("cannot keep state: %w", err)
	}
	return func(err error) {
		if err != nil && !wanted && !s.pulse.everWorked() {
			err = daemon.Disown(st) // somebody was told that it cannot be started
		} else {
			err = daemon.Leave(st)
		}
		if err != nil {
			s.log.Warn("stopped with errors", "error", err)
		}
	}, nil
}

// enterAgain is enter for a configuration that may ask for another number of instances.
func (s *session) enterAgain() {
	if s.instance == 0 {
		return
	}
	if err := daemon.Enter(s.cfg.State(), s.instances()); err != nil {
		s.log.Warn("progress not written", "error", err)
	}
}

// instances are as many as v02 would have started.
func (s *session) instances() int {
	return max(1, s.cfg.Values.Int("instances"))
}

// turns runs one worker after another, for as long as each is asked to make room for the next.
// When one does not come to work with what it has read, the configuration before it is used again.
func (s *session) turns(ctx context.Context, w worker) error {
	var before *config.Config // until the worker with the one after it works
	for {
		next, cfg, err := s.turn(ctx, w)
		switch {
		case next != nil:
			before, s.cfg, s.resumes, w = s.cfg, cfg, true, next
			s.log.Info("configuration read again", "config", cfg.Path)
			s.enterAgain()
			s.level.Set(level(cfg.Values))
		case err != nil && before != nil && !s.pulse.works() && ctx.Err() == nil:
			s.log.Error("configuration does not work, going on with the one before", "error", err, "hint", broker.Hint(err))
			s.cfg, before = before, nil
			s.enterAgain()
			s.level.Set(level(s.cfg.Values))
			if w, err = s.newWorker(); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// turn runs a worker until it ends, or until there is another to take its place, which has read
// the configuration cfg. One that has stopped for it has left nothing half done.
func (s *session) turn(ctx context.Context, w worker) (next worker, cfg *config.Config, err error) {
	run, stop := context.WithCancel(ctx)
	defer stop()
	s.pulse.attend(w)
	over := make(chan error, 1)
	go func() { over <- w.Run(run) }()
	for {
		select {
		case err := <-over:
			return nil, nil, err
		case <-s.Reload:
		}
		s.reopenLog()
		if next, cfg = s.again(); next == nil {
			continue
		}
		s.pulse.reloading()
		stop()
		if err := <-over; err != nil && !errors.Is(err, errSome) {
			s.log.Warn("stopped with errors", "error", err)
		}
		return next, cfg, nil
	}
}

// again reads the configuration again and makes a worker of it. Whatever is wrong with it is logged, and
// then there is none.
func (s *session) again() (worker, *config.Config) {
	cfg, problems := config.Load(s.request)
	for _, p := range problems {
		if p.Severity == config.Error {
			s.log.Error("configuration not read again", "problem", p.String(), "hint", p.Hint)
		}
	}
	if config.Failed(problems) {
		return nil, nil
	}
	if was, is := s.cfg.State().Dir(), cfg.State().Dir(); was != is {
		s.log.Error("configuration not read again", "problem", "state_dir is "+is+" now, and was "+was, "hint", "restart it")
		return nil, nil
	}
	fresh := *s
	fresh.cfg, fresh.resumes = cfg, true
	w, err := fresh.newWorker()
	if err != nil {
		s.log.Error("configuration not read again", "problem", err.Error(), "hint", broker.Hint(err))
		return nil, nil
	}
	return w, cfg
}
