package keep

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A Clock is the time ages are measured by. It follows the clock of the host, but one that
// leaps ahead, because it was set wrong or the flow did not run, is believed only after the
// flow has run for a day; until then only the time passes that it runs. So a wrong clock has
// a day to be put right before anything is removed for it.
type Clock struct {
	path     string
	believed time.Time
	doubt    time.Duration // how long the clock has been ahead
}

const (
	leap      = time.Hour // ahead by more is a leap
	believing = 24 * time.Hour
)

// OpenClock opens the clock kept in dir. A new one believes what it sees first.
func OpenClock(dir string) *Clock {
	c := &Clock{path: filepath.Join(dir, "clock")}
	b, err := os.ReadFile(c.path)
	if err != nil {
		return c
	}
	var at, doubt int64
	if n, err := fmt.Sscanf(string(b), "%d %d\n", &at, &doubt); n == 2 && err == nil && doubt >= 0 {
		c.believed, c.doubt = time.Unix(at, 0), time.Duration(doubt)*time.Second
	} else if info, err := os.Stat(c.path); err == nil { // cut short by a crash
		c.believed = info.ModTime()
	}
	return c
}

// Now is the time to go by when the host's clock shows wall and the flow has run for passed
// since the last call. leapt is true at the first call after a leap.
func (c *Clock) Now(wall time.Time, passed time.Duration) (now time.Time, leapt bool) {
	ahead := false
	if !c.believed.IsZero() {
		c.believed = c.believed.Add(passed)
		ahead = wall.Sub(c.believed) > leap
	}
	switch {
	case !ahead:
		c.believed, c.doubt = wall, 0
	case c.doubt+passed >= believing:
		c.believed, c.doubt = wall, 0
	default:
		leapt = c.doubt == 0
		c.doubt += max(passed, time.Second)
	}
	return c.believed, leapt
}

// Keep writes the clock down for the next run.
func (c *Clock) Keep() error {
	text := fmt.Appendf(nil, "%d %d\n", c.believed.Unix(), int64(c.doubt/time.Second))
	if err := os.WriteFile(c.path, text, 0o600); err != nil {
		return fmt.Errorf("cannot keep the time: %w", err)
	}
	return nil
}
