package platform

import (
	"context"
	"errors"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
)

const (
	// lastingTries is how often a connection may end one after the other without anything having
	// come, and lastingPause how long to wait after the first; it doubles.
	lastingTries = 5
	lastingPause = time.Second
)

// lasting makes one connection after the other until the harvest is to stop, or the server does
// not take any.
func lasting(ctx context.Context, w *harvest.Walk, connect func(context.Context) (came bool, err error)) error {
	for row := 0; ; row++ {
		came, err := connect(ctx)
		if final(ctx, err) {
			return err
		}
		if came {
			row = 0
		}
		if row == lastingTries {
			return err
		}
		w.Log().Warn("harvest connects again", "harvest", w.Start().ID, "error", err)
		if err := w.Sleep(ctx, lastingPause<<row); err != nil {
			return err
		}
	}
}

// together listens to all seeds at once. Trouble with one seed ends its stream alone; with all of
// them there is nothing to listen to. Any other error ends all.
func together(ctx context.Context, w *harvest.Walk, listen func(context.Context, sfm.Seed) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type ending struct {
		seed sfm.Seed
		err  error
	}
	seeds := w.Start().Seeds
	ends := make(chan ending, len(seeds))
	for _, seed := range seeds {
		go func() { ends <- ending{seed, listen(ctx, seed)} }()
	}
	var first error
	for range seeds {
		e := <-ends
		var trouble *seedError
		switch {
		case errors.As(e.err, &trouble):
			w.Warn(known(e.seed, trouble.trouble), label(e.seed)+": "+trouble.detail, e.seed.ID)
		case first == nil:
			first = e.err
			cancel()
		}
	}
	if first == nil {
		return harvest.Refuse("no_seeds", "None of the seeds can be listened to")
	}
	return first
}
