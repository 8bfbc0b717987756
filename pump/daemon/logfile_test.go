package daemon

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A clock that is set by the test.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func (c *clock) set(s string) {
	var err error
	if c.at, err = time.ParseInLocation("2006-01-02 15:04:05", s, time.UTC); err != nil {
		panic(err)
	}
}

func newLogFile(t *testing.T, c *clock, every time.Duration, keep int) (*LogFile, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log", "x.log")
	l, err := OpenLog(LogOptions{Path: path, Mode: 0o600, Every: every, Keep: keep, Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, path
}

func say(t *testing.T, l *LogFile, line string) {
	t.Helper()
	if _, err := l.Write([]byte(line + "\n")); err != nil {
		t.Fatal(err)
	}
}

// holds compares what the files beside path hold: suffix → content.
func holds(t *testing.T, path string, want map[string]string) {
	t.Helper()
	files, _ := filepath.Glob(path + "*")
	for _, f := range files {
		b, err := os.ReadFile(f)
		suffix := strings.TrimPrefix(f, path)
		if err != nil || strings.ReplaceAll(string(b), "\n", " ") != want[suffix] {
			t.Errorf("%q holds %q (%v), not %q", suffix, b, err, want[suffix])
		}
		delete(want, suffix)
	}
	if len(want) > 0 {
		t.Errorf("missing: %q", want)
	}
}

// What somebody else put away is not written on after Reopen.
func TestReopen(t *testing.T) {
	c := new(clock)
	c.set("2026-11-21 12:00:00")
	l, path := newLogFile(t, c, 24*time.Hour, 2)
	say(t, l, "before")
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	say(t, l, "still")
	if err := l.Reopen(); err != nil {
		t.Fatal(err)
	}
	say(t, l, "after")
	holds(t, path, map[string]string{".away": "before still ", "": "after "})
}

// At midnight a new file begins, and only so many older ones are kept.
func TestRotation(t *testing.T) {
	c := new(clock)
	c.set("2026-11-21 23:59:59")
	l, path := newLogFile(t, c, 24*time.Hour, 2)
	for _, at := range []string{"2026-11-21 23:59:59", "2026-11-22 00:00:00", "2026-11-22 23:00:00", "2026-11-23 10:00:00", "2026-11-24 10:00:00"} {
		c.set(at)
		say(t, l, at[8:13])
	}
	holds(t, path, map[string]string{".2026-11-22": "22 00 22 23 ", ".2026-11-23": "23 10 ", "": "24 10 "})
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
}

// Shorter periods have their time in the name, longer ones last.
func TestRotationPeriods(t *testing.T) {
	c := new(clock)
	c.set("2026-11-21 10:59:59")
	l, path := newLogFile(t, c, time.Hour, 0)
	say(t, l, "a")
	c.set("2026-11-21 11:00:00")
	say(t, l, "b")
	holds(t, path, map[string]string{".2026-11-21_10-00-00": "a ", "": "b "})

	c.set("2026-11-20 10:00:00")
	l, path = newLogFile(t, c, 7*24*time.Hour, 0)
	rotated := 0
	for range 14 {
		c.at = c.at.Add(24 * time.Hour)
		say(t, l, "x")
		files, _ := filepath.Glob(path + ".*")
		rotated = len(files)
	}
	if rotated != 2 {
		t.Errorf("%d weekly files in two weeks", rotated)
	}
}

// A clock set back ends no file, and no file is ever written over.
func TestRotationClockBack(t *testing.T) {
	c := new(clock)
	c.set("2026-11-22 00:00:05")
	l, path := newLogFile(t, c, 24*time.Hour, 9)
	say(t, l, "a")
	c.set("2026-11-21 23:59:58")
	say(t, l, "b")
	c.set("2026-11-22 00:00:01")
	say(t, l, "c")
	c.set("2026-11-21 12:00:00")
	say(t, l, "d")
	c.set("2026-11-22 12:00:00")
	say(t, l, "e")
	holds(t, path, map[string]string{".2026-11-21": "a b ", ".2026-11-21.1": "c d ", "": "e "})
}

// What an earlier process left from an earlier day is put away at the first line.
func TestRotationAfterRestart(t *testing.T) {
	c := new(clock)
	path := filepath.Join(t.TempDir(), "x.log")
	if err := os.WriteFile(path, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.set("2026-11-20 12:00:00")
	if err := os.Chtimes(path, c.at, c.at); err != nil {
		t.Fatal(err)
	}
	c.set("2026-11-21 12:00:00")
	l, err := OpenLog(LogOptions{Path: path, Mode: 0o600, Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	say(t, l, "new")
	holds(t, path, map[string]string{".2026-11-20": "old ", "": "new "})
}

// A full disk ends nothing: the first line that is lost is said elsewhere.
func TestLogDiskFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	var fallback bytes.Buffer
	path := filepath.Join(t.TempDir(), "x.log")
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	l, err := OpenLog(LogOptions{Path: path, Mode: 0o600, Now: time.Now, Fallback: &fallback})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	say(t, l, "first")
	say(t, l, "second")
	if s := fallback.String(); !strings.Contains(s, "no space left on device: first") || strings.Contains(s, "second") {
		t.Errorf("said %q", s)
	}
}

// A log that somebody took away comes back with the next period.
func TestRotationOfNothing(t *testing.T) {
	c := new(clock)
	c.set("2026-11-21 12:00:00")
	l, path := newLogFile(t, c, 24*time.Hour, 5)
	say(t, l, "one")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	c.set("2026-11-22 12:00:00")
	say(t, l, "two")
	holds(t, path, map[string]string{"": "two "})
}
