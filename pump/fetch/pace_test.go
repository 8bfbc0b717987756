package fetch

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// testClock counts the bytes taken, and only goes on when somebody waits.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *testClock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) wait(_ context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return nil
}

// A file of 100 KiB at 10 KiB/s takes ten seconds of the clock, whole and verified.
func TestPaceHoldsBack(t *testing.T) {
	clock := &testClock{now: time.Unix(1e9, 0)}
	tree := openTree(t, TreeOptions{})
	j := job(t, tree, "x", make([]byte, 100<<10))
	j.Pace = NewPace(10 << 10)
	j.Pace.now, j.Pace.wait = clock.read, clock.wait
	if err := put(t, installer(t, SyncOff), j); err != nil {
		t.Fatal(err)
	}
	if d := clock.now.Sub(time.Unix(1e9, 0)).Round(time.Millisecond); d != 10*time.Second {
		t.Errorf("it took %v of the clock, want 10s", d)
	}
}

// Several share one pace, and what was not used before does not make it faster.
func TestPaceIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(1000)
		time.Sleep(time.Hour)
		begin := time.Now()
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() {
				for range 10 {
					if err := p.take(t.Context(), 100); err != nil {
						t.Error(err)
					}
				}
			})
		}
		workers.Wait()
		if d := time.Since(begin); d != 4*time.Second {
			t.Errorf("4000 bytes at 1000 a second took %v", d)
		}
	})
}

// A transfer that is held back ends with its context.
func TestPaceIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := NewPace(1).take(ctx, 1<<20); !errors.Is(err, context.Canceled) {
		t.Errorf("the wait ended with %v", err)
	}
}
