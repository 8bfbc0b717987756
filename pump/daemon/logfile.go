package daemon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// LogOptions say how a log is kept.
type LogOptions struct {
	Path     string
	Mode     fs.FileMode
	Every    time.Duration // a new file begins at each multiple, in local time; a day is from midnight to midnight
	Keep     int           // files besides the current one; 0 keeps all
	Now      func() time.Time
	Fallback io.Writer // takes the first line that cannot be written
	// Opened, where set, is told of each file that is opened.
	Opened func(*os.File)
}

// A LogFile is a log that puts itself away: path.2006-01-02 holds what was written that day, or
// with shorter periods path.2006-01-02_15-04-05. A clock that is set back ends no file; a
// name that is taken is never written over.
type LogFile struct {
	o      LogOptions
	mu     sync.Mutex
	file   *os.File
	period time.Time // that the current file began in
	failed bool      // the last line could not be written
}

const day = 24 * time.Hour

// OpenLog opens a log for appending, and makes its directory. What is there from an earlier
// period is put away at the first line.
func OpenLog(o LogOptions) (*LogFile, error) {
	if o.Every <= 0 {
		o.Every = day
	}
	l := &LogFile{o: o}
	if err := os.MkdirAll(filepath.Dir(o.Path), 0o775); err != nil {
		return nil, fmt.Errorf("cannot write log: %w", err)
	}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("cannot write log: %w", err)
	}
	return l, nil
}

func (l *LogFile) open() error {
	f, err := os.OpenFile(l.o.Path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, l.o.Mode)
	if err != nil {
		return err
	}
	l.file, l.period = f, l.begin(l.o.Now())
	if fi, err := f.Stat(); err == nil && fi.Size() > 0 && fi.ModTime().Before(l.period) {
		l.period = l.begin(fi.ModTime())
	}
	if l.o.Opened != nil {
		l.o.Opened(f)
	}
	return nil
}

// begin is the beginning of the period t is in.
func (l *LogFile) begin(t time.Time) time.Time {
	midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
	if l.o.Every < day {
		return midnight.Add(t.Sub(midnight).Truncate(l.o.Every))
	}
	days := int(midnight.Sub(time.Date(1970, 1, 1, 0, 0, 0, 0, t.Location())).Round(day) / day)
	return midnight.AddDate(0, 0, -(days % int(l.o.Every/day)))
}

// Write writes a line, to a new file when the period of the current one is over. It never
// fails: a log that cannot be written must not end what it is about.
func (l *LogFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch now := l.begin(l.o.Now()); {
	case now.After(l.period):
		if err := l.rotate(); err != nil {
			l.complain(err, line)
		}
		l.period = now
	case now.Before(l.period):
		l.period = now
	}
	if _, err := l.file.Write(line); err != nil {
		l.complain(err, line)
	} else {
		l.failed = false
	}
	return len(line), nil
}

// complain passes on the first of the lines that cannot be written.
func (l *LogFile) complain(err error, line []byte) {
	if !l.failed && l.o.Fallback != nil {
		fmt.Fprintf(l.o.Fallback, "cannot write log: %v: %s", err, line)
	}
	l.failed = true
}

// rotate puts the current file away, unless somebody has done so. When that fails, it is written on.
func (l *LogFile) rotate() error {
	layout := "2006-01-02"
	if l.o.Every < day {
		layout = "2006-01-02_15-04-05"
	}
	if err := putAway(l.o.Path, l.o.Path+"."+l.period.Format(layout)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	old := l.file
	if err := l.open(); err != nil {
		return err
	}
	old.Close()
	return l.prune()
}

// Reopen goes on in the file that has the name now, or in a new one: somebody else may have put
// the log away. When that fails, it is written on where it was.
func (l *LogFile) Reopen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.file
	if err := l.open(); err != nil {
		return fmt.Errorf("cannot write log: %w", err)
	}
	return old.Close()
}

// putAway renames a file without replacing another.
func putAway(from, to string) error {
	for n, name := 1, to; ; n++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return os.Rename(from, name)
		} else if err != nil {
			return err
		}
		name = fmt.Sprintf("%s.%d", to, n)
	}
}

// prune removes the oldest files put away.
func (l *LogFile) prune() error {
	if l.o.Keep <= 0 {
		return nil
	}
	entries, err := os.ReadDir(filepath.Dir(l.o.Path))
	if err != nil {
		return err
	}
	var old []string
	for _, e := range entries {
		suffix, ok := strings.CutPrefix(e.Name(), filepath.Base(l.o.Path)+".")
		if ok && len(suffix) >= len("2006-01-02") && suffix[0] >= '0' && suffix[0] <= '9' {
			old = append(old, e.Name())
		}
	}
	slices.Sort(old)
	for len(old) > l.o.Keep {
		err = errors.Join(err, os.Remove(filepath.Join(filepath.Dir(l.o.Path), old[0])))
		old = old[1:]
	}
	return err
}

// Close ends the log.
func (l *LogFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
