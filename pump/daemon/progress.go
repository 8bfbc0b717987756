package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"srpump/pump/config"
)

// The states of a process, as it says itself.
const (
	Connecting = "connecting"
	Running    = "running"
	Stopping   = "stopping"
)

// A Progress is what a running process says of itself, for sr(1), status and sanity.
type Progress struct {
	PID         int       `json:"pid"`
	Instance    int       `json:"instance"` // 0 in the foreground
	Version     string    `json:"version"`
	Config      string    `json:"config,omitempty"` // path
	Started     time.Time `json:"started"`
	Beat        time.Time `json:"heartbeat"` // when this was written
	State       string    `json:"state"`     // connecting, running or stopping
	Unreachable time.Time `json:"unreachable_since,omitzero"`
	Trouble     string    `json:"trouble,omitempty"` // why the broker is not reached
	Paused      time.Time `json:"paused_since,omitzero"`
	PausedFor   string    `json:"paused_for,omitempty"` // why nothing is taken in
	Counters    Counts    `json:"counters"`
	InHand      int       `json:"in_hand"` // announcements begun and not done
	Oldest      time.Time `json:"oldest,omitzero"`
	Retries     int       `json:"retries"` // waiting on disk

	// BeatUptime and MovedUptime are when this was written and when a counter last changed, in
	// time since the host began: what a hand or a time server does to the clock must not make a process look dead.
	BeatUptime  time.Duration `json:"heartbeat_uptime"`
	MovedUptime time.Duration `json:"moved_uptime"`
	// BeatEvery is how often this is written at the least.
	BeatEvery time.Duration `json:"heartbeat_every"`
}

// Counts are the counters of a flow by their names.
type Counts map[string]int64

// Uptime is the time since the host began, without that it slept: the only clock two processes
// share that nobody sets.
func Uptime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

func progressPath(st config.State) string { return filepath.Join(st.Dir(), "progress.json") }

// Write replaces the progress of a configuration.
func (p *Progress) Write(st config.State) error {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := replace(progressPath(st), append(b, '\n')); err != nil {
		return fmt.Errorf("cannot write progress: %w", err)
	}
	return nil
}

// ReadProgress returns what a process said last; the error is fs.ErrNotExist when none ever did.
func ReadProgress(st config.State) (p Progress, err error) {
	b, err := os.ReadFile(progressPath(st))
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return p, errors.Join(fmt.Errorf("cannot read %q", progressPath(st)), err)
	}
	return p, nil
}

// missedBeats is how many signs of life may be missing, whatever the limit is: the process may have been
// told of another one.
const missedBeats = 3

// Hung reports whether a process makes no progress at the uptime now: its heart has not beaten
// for longer than limit, or it has had work in hand, and a broker, for as long, and nothing came of it.
// A limit of 0 is none.
func (p *Progress) Hung(now, limit time.Duration) bool {
	if limit <= 0 {
		return false
	}
	if now-p.BeatUptime > max(limit, missedBeats*p.BeatEvery) {
		return true
	}
	return p.InHand > 0 && p.Unreachable.IsZero() && now-p.MovedUptime > limit
}
