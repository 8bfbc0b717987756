package hook

import (
	"context"
	"sync"
	"time"
)

// A rate lets so many events a second pass, evenly.
type rate struct {
	every time.Duration // between two

	mu   sync.Mutex
	next time.Time
}

func newRateLimit(env Env) (Hook, error) {
	return &rate{every: time.Second / time.Duration(env.Own.Int("post_rate_limit"))}, nil
}

// Run waits for its turn.
func (r *rate) Run(ctx context.Context, _ *Event) (bool, error) {
	turn := time.NewTimer(r.reserve(time.Now()))
	defer turn.Stop()
	select {
	case <-turn.C:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// reserve takes the next turn, and says how long it is till then.
func (r *rate) reserve(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next.Before(now) {
		r.next = now
	}
	wait := r.next.Sub(now)
	r.next = r.next.Add(r.every)
	return wait
}

// Close implements Hook.
func (r *rate) Close() error { return nil }
