package winnow

import (
	"sync"
	"time"
)

// A clock counts nanoseconds since 1970 and never goes back: a step of the wall clock
// neither expires everything nor keeps anything longer.
type clock struct {
	mu   sync.Mutex
	read func() time.Time
	last time.Time
	ns   int64
}

func newClock(read func() time.Time) *clock {
	t := read()
	return &clock{read: read, last: t, ns: t.UnixNano()}
}

func (c *clock) now() int64 {
	t := c.read()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.advance(t)
}

// advance moves on to t; the difference of two readings is the monotonic one where both have it.
func (c *clock) advance(t time.Time) int64 {
	if d := t.Sub(c.last); d > 0 {
		c.ns += int64(d)
		c.last = t
	} else if d < -time.Second {
		c.last = t
	}
	return c.ns
}
