package daemon

import (
	"context"
	"time"
)

// A Worker is what runs for long: a flow, a watcher of files, a pipeline.
type Worker interface {
	Run(ctx context.Context) error
	// InHand is how much it has begun and not done, and since when.
	InHand() (n int, oldest time.Time)
	Retries() int
	Count() map[string]int64
}
