package platform

import (
	"context"
	"errors"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
)

// lasting makes one connection after the other until the harvest is to stop, or as often as it
// is tried without anything having come.
func lasting(ctx context.Context, w *harvest.Walk, connect func(context.Context) (came bool, err error)) error {
	for try := 1; ; try++ {
		came, err := connect(ctx)
		if final(ctx, err) {
			return err
		}
		if came {
			try = 1
		}
		w.Log().Warn("harvest connects again", "harvest", w.Start().ID, "try", try, "error", err)
		if again, stopped := w.Again(ctx, try); stopped != nil || !again {
			return errors.Join(stopped, err)
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
		go func() { ends <- ending{seed, apart(w, listen(ctx, seed))} }()
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
