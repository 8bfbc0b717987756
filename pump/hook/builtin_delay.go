package hook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// A LaterError asks for an event to be shown again after a while. Nothing failed, and no try is
// counted.
type LaterError struct {
	Wait time.Duration
}

func (e *LaterError) Error() string { return fmt.Sprintf("not before %s from now", e.Wait) }

// farFuture is how far ahead a clock may be for what is dated by it to be waited for.
const farFuture = 24 * time.Hour

// unripe is what is to be returned about something that must be least old and began at a time.
func unripe(now, began time.Time, least time.Duration) error {
	wait := least - now.Sub(began)
	if wait <= 0 || began.Sub(now) > farFuture {
		return nil
	}
	return &LaterError{wait}
}

// newDelay waits until the announcement is so old.
func newDelay(env Env) (Hook, error) {
	least := env.Own.Duration("msg_delay")
	return step(func(_ context.Context, e *Event) (bool, error) {
		err := unripe(env.Now(), e.Announcement.Time.Time(), least)
		return err == nil, err
	}), nil
}

// newFileDelay waits until nobody has written to the local file for so long. What is gone is dropped.
func newFileDelay(env Env) (Hook, error) {
	least := env.Own.Duration("msg_fdelay")
	return step(func(_ context.Context, e *Event) (bool, error) {
		root, path, err := localFile(env, e)
		if err != nil {
			return false, err
		}
		defer root.Close()
		fi, err := root.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err == nil {
			err = unripe(env.Now(), fi.ModTime(), least)
		}
		return err == nil, err
	}), nil
}
