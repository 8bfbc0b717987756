package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"srpump/pump/config"
	"srpump/pump/daemon"
)

// A target is one configuration an action is for.
type target struct {
	name     string
	args     []string // by which a process finds it
	st       config.State
	disabled bool
	gone     bool // its file is, though a process may run it
	bad      bool // it cannot be used, which was said
	// administered says that a broker has an administrator here.
	administered bool
	limit        time.Duration // after which a process that does not get on hangs
}

// eachTarget does something with the configuration that is named, or with each of the component. One
// that fails does not keep the others from their turn; the worst status is that of all.
func (s *session) eachTarget(ctx context.Context, args []string, do func(*session, context.Context, target) error) error {
	if len(args) > 0 || given(s.words, "config") || s.preset == config.Audit { // which needs no configuration of its own
		t, err := s.target(args)
		if err != nil {
			return err
		}
		return do(s, ctx, t)
	}
	listed, err := s.listed()
	if err != nil {
		return err
	}
	if len(listed) == 0 {
		return usagef("no configuration named, and none in %s; %s list prints examples to add", s.configDir(), s.program)
	}
	worst := ExitOK
	for _, l := range listed {
		one := *s
		worst = max(worst, one.perform(ctx, &action{run: func(ctx context.Context, s *session, _ []string) error {
			return do(s, ctx, s.listedTarget(l))
		}}, nil))
	}
	if worst != ExitOK {
		return exitStatus(worst)
	}
	return nil
}

// listed are the configurations of the component, also those whose file is gone and whose
// process is not.
func (s *session) listed() ([]daemon.Listed, error) {
	all, err := daemon.List(s.Env, s.preset.String())
	if err != nil {
		return nil, fmt.Errorf("cannot list configurations: %w", err)
	}
	root := s.Env.CacheDir()
	if dir := s.option("state_dir"); dir != "" {
		root = filepath.Join(s.Env.Cwd, dir)
		if filepath.IsAbs(dir) {
			root = dir
		}
	}
	return append(all, daemon.Orphans(root, s.preset.String(), all)...), nil
}

// listedTarget reads a configuration of the list.
func (s *session) listedTarget(l daemon.Listed) target {
	if l.Path == "" {
		return s.orphan(l.Name)
	}
	t := target{name: l.Name, args: []string{l.Name}, disabled: l.Disabled}
	if l.Disabled {
		cfg, _ := config.Load(config.Request{Env: s.Env, Preset: s.preset, Args: s.words})
		s.cfg, t.st = cfg, cfg.State()
		t.st.Config = l.Name
		return t
	}
	t.bad = !s.loadConfig(s.words, l.Path)
	t.st, t.limit = s.cfg.State(), s.cfg.Values.Duration("sanity_log_dead")
	return t
}

// target reads the configuration the arguments name. One that is gone may run all the same, and one that
// cannot be used may have to be stopped.
func (s *session) target(args []string) (target, error) {
	arg, err := s.arguments(args, given(s.words, "config"))
	if err != nil {
		return target{}, usageError{err}
	}
	if arg == "" {
		arg = s.option("config")
	}
	if arg != "" {
		_, err := s.Env.FindConfig(s.preset.String(), arg)
		switch {
		case errors.Is(err, config.ErrNoConfig):
			return s.missing(arg, err)
		case err != nil:
			return target{}, usageError{err}
		}
	}
	t := target{args: s.paths, bad: !s.loadConfig(s.words, arg)}
	if arg != "" {
		t.args = slices.Concat([]string{arg}, s.paths)
	}
	t.administered = s.cfg.Values.String("admin") != ""
	t.name, t.st, t.limit = s.cfg.Name, s.cfg.State(), s.cfg.Values.Duration("sanity_log_dead")
	return t, nil
}

// missing is a configuration that is disabled, or that is gone and has a process.
func (s *session) missing(arg string, why error) (target, error) {
	name := config.ConfigName(strings.TrimSuffix(arg, ".off"))
	if config.CheckName(name) != nil {
		return target{}, usageError{why}
	}
	t := s.orphan(name)
	off := filepath.Join(s.Env.ConfigDir(), s.preset.String(), name+".conf.off")
	if _, err := os.Stat(off); err == nil {
		t.disabled, t.gone = true, false
		return t, nil
	}
	if _, held, err := daemon.Find(t.st); err == nil && held {
		return t, nil
	}
	return target{}, usageError{why}
}

// orphan is a configuration without a file, as the files all share say it.
func (s *session) orphan(name string) target {
	cfg, _ := config.Load(config.Request{Env: s.Env, Preset: s.preset, Args: s.words})
	s.cfg = cfg
	st := cfg.State()
	st.Config = name
	return target{name: name, st: st, gone: true, limit: cfg.Values.Duration("sanity_log_dead")}
}
