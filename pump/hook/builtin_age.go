package hook

import (
	"context"
	"os"
)

// newFileAge logs how old a file is: since its mtime, when it was announced with one, else since that of
// the file here.
func newFileAge(env Env) (Hook, error) {
	return step(func(_ context.Context, e *Event) (bool, error) {
		changed := e.Announcement.Mtime().Time()
		if changed.IsZero() {
			if fi, err := os.Stat(e.Local); err == nil {
				changed = fi.ModTime()
			}
		}
		if !changed.IsZero() {
			env.Log.Info("file age", "path", e.Local, "seconds", env.Now().Sub(changed).Seconds())
		}
		return true, nil
	}), nil
}

// newPrintLag logs how long ago an announcement was made.
func newPrintLag(env Env) (Hook, error) {
	return changing(func(e *Event) {
		a := e.Announcement
		env.Log.Info("lag", "path", a.Path, "announced", a.Time, "seconds", env.Now().Sub(a.Time.Time()).Seconds())
	}), nil
}
