package cli

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"srpump/pump/config"
	"srpump/pump/daemon"
)

// startPatience is how long a start waits to hear that it works.
const startPatience = 10 * time.Second

// start starts a process for the configuration, unless one runs. When two do so at once, the
// lock decides, and both are told the same.
func (s *session) start(_ context.Context, t target) error {
	switch {
	case t.bad:
		return usageError{errSaid}
	case t.disabled:
		s.sayf("%s %s is disabled", s.program, t.name)
		return nil
	}
	if h, held, err := daemon.Find(t.st); err != nil {
		return err
	} else if held {
		return s.runsAlready(t, h)
	}
	if t.gone {
		return usagef("cannot start %s %s: its configuration is gone", s.program, t.name)
	}
	if pid, found := daemon.Stranger(t.st); found {
		return s.strange(pid)
	}
	b, err := s.spawn(t)
	if err != nil {
		return err
	}
	switch {
	case b.Ended && b.Status == ExitBusy:
		if h, held, err := daemon.Find(t.st); err == nil && held && h.Instance > 0 {
			return s.runsAlready(t, h)
		}
		fallthrough
	case b.Ended:
		io.WriteString(s.w, b.Said)
		if b.Status == ExitOK {
			return fmt.Errorf("cannot start %s %s: it ended at once", s.program, t.name)
		}
		return exitStatus(b.Status)
	case b.Unreachable != "":
		s.warningf("%s %s is started and waits for its broker: %s", s.program, t.name, b.Unreachable)
	case b.Late:
		s.warningf("%s %s is started and not ready after %v; its log is %s", s.program, t.name, startPatience, s.logPath(daemon.Started))
	}
	s.sayf("%s %s started (pid=%d)", s.program, t.name, b.PID)
	return nil
}

func (s *session) runsAlready(t target, h daemon.Holder) error {
	where := ""
	if h.Instance == 0 {
		where = " in the foreground"
	}
	s.sayf("%s %s is running already%s (pid=%d)", s.program, t.name, where, h.PID)
	return nil
}

// spawn starts this program once more, as the instance of the configuration. The options of the
// command line are handed to it where no list of processes shows them: a broker may hold a password.
func (s *session) spawn(t target) (daemon.Birth, error) {
	exe, err := os.Executable()
	if err != nil {
		return daemon.Birth{}, fmt.Errorf("cannot start %s %s: %w", s.program, t.name, err)
	}
	path := s.logPath(daemon.Started)
	if err := os.MkdirAll(filepath.Dir(path), 0o775); err != nil {
		return daemon.Birth{}, fmt.Errorf("cannot write log: %w", err)
	}
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, fs.FileMode(s.cfg.Values.Octal("chmod_log")))
	if err != nil {
		return daemon.Birth{}, fmt.Errorf("cannot write log: %w", err)
	}
	defer log.Close()
	args := slices.Concat([]string{s.program, "--no", strconv.Itoa(daemon.Started), "start"}, t.args)
	return daemon.Spawn{Exe: exe, Arg: args, Words: optionArgs(s.words), Dir: s.Env.Cwd, Log: log}.Start(startPatience)
}

// optionArgs writes the options of a command line for another, without those that say what to do
// with which configuration.
func optionArgs(words [][]string) (args []string) {
	for _, w := range words {
		switch {
		case w[0] == "no" || w[0] == "action" || w[0] == "config":
		case len(w) > 1:
			args = append(args, "-"+w[0]+"="+w[1])
		default:
			args = append(args, "-"+w[0])
		}
	}
	return args
}

// runInstance is the process start has started: it runs the configuration, with a log file,
// and says to its parent how that went.
func (s *session) runInstance(ctx context.Context, args []string) error {
	s.instance, s.TTY = daemon.Started, nil
	s.parent = daemon.TheParent()
	if s.parent.Waits() {
		s.w = io.MultiWriter(s.parent, s.w)
	}
	handed, err := daemon.TheWords()
	if err != nil {
		return err
	}
	words, _, err := config.NormalizeArgs(handed)
	if err != nil {
		return usageError{err}
	}
	if !s.load(slices.Concat(s.words, words), args) {
		return exitStatus(ExitUsage)
	}
	if code := s.act(ctx); code != ExitOK {
		return exitStatus(code)
	}
	return nil
}

// option is what the command line says of an option, last.
func (s *session) option(name string) (value string) {
	for _, w := range s.words {
		if w[0] == name && len(w) > 1 {
			value = w[1]
		}
	}
	return value
}
