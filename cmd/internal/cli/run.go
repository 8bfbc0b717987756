package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"srpump/pump"
	"srpump/pump/config"
)

// A session is one run of one command.
type session struct {
	say
	Process
	preset config.Preset
	cfg    *config.Config
	paths  []string   // arguments that are neither action nor configuration
	words  [][]string // options of the command line
	log    *slog.Logger
}

// Run runs the command of preset p and returns its exit status.
func Run(ctx context.Context, p config.Preset, proc Process) int {
	s := &session{say: say{p.Program(), proc.Stderr}, Process: proc, preset: p}
	words, rest, err := config.NormalizeArgs(proc.Args)
	if err != nil {
		s.errorf("%v", err)
		s.hint(shortUsage(p))
		return ExitUsage
	}
	switch {
	case given(words, "help"):
		if err := help(p, proc.Stdout); err != nil {
			return ExitFailed
		}
		return ExitOK
	case given(words, "version"):
		fmt.Fprintf(proc.Stdout, "%s %s\n", p.Program(), Version)
		return ExitOK
	}
	s.words = words
	a, rest, err := s.action(rest)
	if err != nil {
		s.errorf("%v", err)
		s.hint(shortUsage(p))
		return ExitUsage
	}
	if a != nil {
		return s.perform(ctx, a, rest)
	}
	if !s.load(words, rest) {
		return ExitUsage
	}
	var code int
	err = app(p, proc.Stdout, func() error {
		code = s.act(ctx)
		return nil
	}).RunContext(ctx, []string{p.Program()})
	if err != nil {
		s.fail(err)
		return ExitFailed
	}
	return code
}

func given(words [][]string, option string) bool {
	return slices.ContainsFunc(words, func(w []string) bool {
		return w[0] == option && (len(w) == 1 || w[1] != "off")
	})
}

// act does what the command is for, with a log open.
func (s *session) act(ctx context.Context) int {
	w, closeLog, err := s.openLog()
	if err != nil {
		s.fail(err)
		return ExitUsage
	}
	defer closeLog()
	s.log = newLog(w, level(s.cfg.Values))
	switch s.preset {
	case config.Post, config.Watch:
		err = s.post(ctx)
	case config.Serve:
		err = s.serve(ctx)
	default:
		err = s.flow(ctx)
	}
	if err != nil && status(err) != ExitOK {
		s.fail(err)
	}
	return status(err)
}

// openLog opens the file of the option log, or standard error.
func (s *session) openLog() (io.Writer, func(), error) {
	name := s.cfg.Values.String("log")
	if name == "" {
		return s.Stderr, func() {}, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.Env.Cwd, name)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot write log: %w", err)
	}
	return f, func() { f.Close() }, nil
}

// host is what a flow gets of this process.
func (s *session) host() *pump.Host {
	return &pump.Host{
		Log: s.log, Stdin: s.Stdin, Stdout: s.Stdout, Cwd: s.Env.Cwd, Version: Version, Now: time.Now,
		Database: filepath.Join(s.cfg.StateRoot, "pump.db"),
	}
}

// announceLocal says where announcements go when no broker is configured.
func (s *session) announceLocal(options ...string) {
	for _, o := range options {
		if s.cfg.Values.String(o) != "" {
			return
		}
	}
	s.log.Info("no broker configured, using the local one", "broker", "sqlite://"+s.host().Database)
}
