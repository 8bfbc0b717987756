package adopt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"srpump/pump/config"
	"srpump/pump/daemon"
	"srpump/pump/retry"
)

// adopted is put behind the name of a file that was read into our own state.
const adopted = ".adopted"

// Apply carries out what Plan says of env now: files of state are imported and
// renamed. A configuration that is running is left alone, which the items
// returned say. Damaged lines are logged and left in the renamed file. Apply
// can be killed and called again at any time.
func Apply(ctx context.Context, env config.Env, log *slog.Logger, now time.Time) ([]Item, error) {
	items, err := Plan(env)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, i := range items {
		if i.Verdict != Imports {
			continue
		}
		if err := ctx.Err(); err != nil {
			return items, err
		}
		if err := i.take(log, now); err != nil {
			errs = append(errs, fmt.Errorf("cannot adopt %q: %w", i.Path, err))
		}
	}
	return items, errors.Join(errs...)
}

// take imports one file, or all files of a retry queue with the first of them.
// The renames come last: before them everything is on the disk in its new
// place.
func (i Item) take(log *slog.Logger, now time.Time) error {
	lock, err := daemon.Take(i.cfg.State(), 0)
	if err != nil {
		return err
	}
	defer lock.Release()
	if pid, found := daemon.Stranger(i.cfg.State()); found {
		return fmt.Errorf("process %d is running", pid)
	}
	return i.takeHeld(log, now)
}

// takeHeld is take for who holds the lock of the state directory.
func (i Item) takeHeld(log *slog.Logger, now time.Time) error {
	if i.kind == cache {
		if err := i.takeCache(log, now); err != nil {
			return err
		}
		return setAside(i.Path)
	}
	files := retryFiles(i.cfg.State().Dir())
	if err := i.takeRetries(files, log); err != nil {
		return err
	}
	for _, f := range files {
		if err := setAside(f); err != nil {
			return err
		}
	}
	return nil
}

func setAside(path string) error {
	err := os.Rename(path, path+adopted)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// takeRetries adds announcements to our queue, which keeps one of what is
// equal; what v02 has done is left out.
func (i Item) takeRetries(files []string, log *slog.Logger) (err error) {
	list, err := readRetries(files, log)
	if err != nil || len(list) == 0 {
		return err
	}
	q, err := retry.Open(i.cfg.State().Dir(), retry.Options{Logger: log,
		TTL: i.cfg.Values.Duration("retry_ttl"), MaxPermanent: i.cfg.Values.Int("retry_permanent")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	for _, a := range list {
		if _, err := q.Add(a, retry.Temporary, "taken over"); err != nil {
			return err
		}
	}
	return nil
}
