package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"srpump/pump/manage"
)

// MaxDeletions is how many deletions at once pass without force: more of them look like a
// configuration that was not read, or is another broker's.
const MaxDeletions = 25

// ErrTooMany is a plan that deletes more than MaxDeletions.
var ErrTooMany = errors.New("so many deletions need the option force")

// Check refuses a plan that deletes too much, unless forced to.
func Check(changes []Change, force bool) error {
	n := 0
	for _, c := range changes {
		if c.Deletes() {
			n++
		}
	}
	if n > MaxDeletions && !force {
		return fmt.Errorf("cannot delete %d users, exchanges and queues: %w", n, ErrTooMany)
	}
	return nil
}

// Apply does the changes in order and says each on one line. One that fails does not keep the others
// from being done.
func Apply(ctx context.Context, c *manage.Client, changes []Change, log *slog.Logger) error {
	var errs []error
	for _, x := range changes {
		if x.do == nil {
			log.Warn("left as it is", "object", x.Object, "reason", x.Why)
			continue
		}
		if err := x.do(ctx, c); err != nil {
			errs = append(errs, err)
			continue
		}
		log.Info("changed", "what", x.Kind, "object", x.Object, "reason", x.Why)
	}
	return errors.Join(errs...)
}

// Show says what Apply would do.
func Show(changes []Change, log *slog.Logger) {
	for _, x := range changes {
		if x.do == nil {
			log.Warn("left as it is", "object", x.Object, "reason", x.Why)
			continue
		}
		log.Info("would change", "what", x.Kind, "object", x.Object, "reason", x.Why)
	}
}
