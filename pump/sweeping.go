package pump

import (
	"context"
	"errors"
	"time"
)

// What interrupted fetches have left is swept at the start and then daily, once it is so old that no try goes on
// with it: a day, or as long as failed announcements are kept.
const (
	sweepEvery = 24 * time.Hour
	sweepAge   = 24 * time.Hour
)

func (f *Flow) sweepLoop(ctx context.Context) {
	if f.partials == nil || f.plan.ephemeral {
		return
	}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		f.sweep(max(sweepAge, f.cfg.Values.Duration("retry_ttl")))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (f *Flow) sweep(age time.Duration) {
	before := time.Now().Add(-age)
	swept, err := f.partials.Sweep(before)
	named, nerr := f.names.Sweep(before)
	for _, path := range append(swept, named...) {
		f.host.Log.Info("left-over removed", "path", path)
	}
	if err := errors.Join(err, nerr); err != nil {
		f.host.Log.Warn("left-overs not all removed", "error", err)
	}
}
