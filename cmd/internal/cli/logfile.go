package cli

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"srpump/pump/daemon"
)

// logPath is where the log goes: the file of the option log, or one in that directory named
// after the configuration; for what was started the one in the log directory of the state. Empty
// is standard error.
func (s *session) logPath(instance int) string {
	name := s.cfg.Values.String("log")
	if name == "" {
		if instance == 0 {
			return ""
		}
		return s.cfg.State().Log(instance)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.Env.Cwd, name)
	}
	if fi, err := os.Stat(name); err == nil && fi.IsDir() {
		name = filepath.Join(name, filepath.Base(s.cfg.State().Log(instance)))
	}
	return name
}

// reopenLog goes on in the file that has the name of the log now: who rotates it by other means
// sends SIGHUP when it is put away.
func (s *session) reopenLog() {
	if s.logFile == nil {
		return
	}
	if err := s.logFile.Reopen(); err != nil {
		s.log.Error("log not opened again", "error", err)
	}
}

// openLog opens the log. That of what was started is its standard output and error as well, so
// that even a crash is found in it.
func (s *session) openLog() (io.Writer, func(), error) {
	path := s.logPath(s.instance)
	if path == "" {
		return s.Stderr, func() {}, nil
	}
	v := s.cfg.Values
	o := daemon.LogOptions{Path: path, Mode: fs.FileMode(v.Octal("chmod_log")), Every: v.Duration("logrotate_interval"),
		Keep: v.Int("logrotate"), Now: time.Now, Fallback: s.Stderr}
	if s.instance > 0 {
		o.Opened = func(f *os.File) {
			for _, fd := range []int{1, 2} {
				_ = unix.Dup3(int(f.Fd()), fd, 0) // else they stay with the file before
			}
		}
	}
	l, err := daemon.OpenLog(o)
	if err != nil {
		return nil, nil, usageError{err}
	}
	s.logFile = l
	return l, func() { l.Close() }, nil
}
