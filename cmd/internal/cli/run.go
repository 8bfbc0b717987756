package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"srpump/pump"
	"srpump/pump/config"
	"srpump/pump/daemon"
)

// A session is one run of one command.
type session struct {
	say
	Process
	preset  config.Preset
	cfg     *config.Config
	paths   []string   // arguments that are neither action nor configuration
	words   [][]string // options of the command line
	log     *slog.Logger
	level   *slog.LevelVar  // of log, changed by a reload
	logFile *daemon.LogFile // nil where it is standard error
	acting  bool            // an action was named, and what follows it is first of all a configuration

	request  config.Request // what cfg was loaded by
	instance int            // 0 in the foreground
	resumes  bool           // a worker came before
	parent   *daemon.Parent
	pulse    *pulse // of what runs for long
}

// Run runs the command of preset p and returns its exit status.
func Run(ctx context.Context, p config.Preset, proc Process) int {
	s := &session{say: say{p.Program(), proc.Stderr}, Process: proc, preset: p, parent: new(daemon.Parent)}
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
	rest = s.takeDirection(rest)
	words = s.words
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
	if s.TTY != nil {
		if _, tty := s.TTY(); tty { // progress and log lines are kept apart
			s.Stderr = &screen{w: s.Stderr}
			s.say = say{s.program, s.Stderr}
		}
	}
	w, closeLog, err := s.openLog()
	if err != nil {
		s.fail(err)
		return ExitUsage
	}
	defer closeLog()
	s.level = new(slog.LevelVar)
	s.level.Set(level(s.cfg.Values))
	s.log = newLog(w, s.level, s.logFormat())
	switch s.preset {
	case config.Post:
		err = s.post(ctx)
	case config.Audit:
		err = s.audit(ctx)
	default:
		err = s.keep(ctx)
	}
	if err != nil && status(err) != ExitOK && !errors.Is(err, errSaid) {
		s.fail(err)
	}
	return status(err)
}

// host is what a flow gets of this process.
func (s *session) host() *pump.Host {
	return &pump.Host{
		Log: s.log, Stdin: s.Stdin, Stdout: s.Stdout, Cwd: s.Env.Cwd, Version: Version, Hostname: s.Env.Hostname, Now: time.Now,
		Database: filepath.Join(s.cfg.StateRoot, "pump.db"),
		Ready:    func() { s.pulse.ready() }, Away: func(why error) { s.pulse.away(why) }, Paused: func(why error) { s.pulse.paused(why) }, Resumes: s.resumes,
	}
}

// announceLocal says where announcements go when no broker is configured
// and they are not printed.
func (s *session) announceLocal(options ...string) {
	for _, o := range options {
		if s.cfg.Values.String(o) != "" || o == "post_broker" && s.cfg.Values.String("outlet") != "post" {
			return
		}
	}
	s.log.Info("no broker configured, using the local one", "broker", "sqlite://"+s.host().Database)
}
