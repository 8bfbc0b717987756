package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// OldLineKey is the key of a record whose value says, with OldLine, what v02 logged of the event
// (sr_options(5), log_format).
const OldLineKey = "v02"

// A counts is what came by, as it is kept between runs.
type counts struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
}

// totals is the family of msg_total: it counts, and says so now and then.
type totals struct {
	name, what, unit string
	every, maxLag    time.Duration
	file             string // of what is kept; empty where nothing is
	log              *slog.Logger
	now              func() time.Time

	mu     sync.Mutex
	loaded bool
	all    counts
	part   counts        // since the last line
	lag    time.Duration // of those, together
	worst  time.Duration
	since  time.Time // the last line, or the first event
}

func totalsOf(name, what, unit string) Maker {
	return func(env Env) (Hook, error) {
		plain := strings.TrimSuffix(name, "_save")
		t := &totals{name: plain, what: what, unit: unit, log: env.Log, now: env.Now,
			every: env.Own.Duration(plain + "_interval"), maxLag: env.Own.Duration(plain + "_maxlag")}
		if plain != name {
			t.file = filepath.Join(env.State, plain+".json")
		}
		return t, nil
	}
}

// Run counts one event.
func (t *totals) Run(_ context.Context, e *Event) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return false, err
	}
	now := t.now()
	if t.since.IsZero() {
		t.since = now
	}
	size := max(e.Announcement.Size(), 0)
	t.all.Count, t.all.Bytes = t.all.Count+1, t.all.Bytes+size
	t.part.Count, t.part.Bytes = t.part.Count+1, t.part.Bytes+size
	lag := now.Sub(e.Announcement.Time.Time())
	t.lag, t.worst = t.lag+lag, max(t.worst, lag)
	if now.Sub(t.since) >= t.every {
		return true, t.tell(now)
	}
	return true, nil
}

// Close tells what has not been told.
func (t *totals) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.part.Count == 0 {
		return nil
	}
	return t.tell(t.now())
}

// tell logs a line and begins anew. Nothing is lost when it cannot be kept: the next line tries again.
func (t *totals) tell(now time.Time) error {
	seconds := max(now.Sub(t.since), time.Second).Seconds()
	line := totalLine{t.name, t.what, t.unit, t.all.Count, float64(t.part.Count) / seconds, float64(t.part.Bytes) / seconds,
		t.lag.Seconds() / float64(t.part.Count)}
	t.log.Info("total", "hook", t.name, "count", t.all.Count, "bytes", t.all.Bytes, "rate", line.rate, "byte_rate", line.bytes,
		"lag", line.lag, OldLineKey, line)
	if t.maxLag > 0 && t.worst > t.maxLag {
		t.log.Warn("lag is high", "hook", t.name, "lag", t.worst.Seconds(), "maxlag", t.maxLag.Seconds())
	}
	t.part, t.lag, t.worst, t.since = counts{}, 0, 0, now
	if err := t.save(); err != nil {
		t.log.Warn("total not kept", "hook", t.name, "error", err)
	}
	return nil
}

// A totalLine is the line of v02.
type totalLine struct {
	name, what, unit string
	count            int64
	rate, bytes, lag float64 // a second, a second, seconds
}

// OldLine is what v02 logs.
func (l totalLine) OldLine() string {
	return fmt.Sprintf("%s: %d %s: %.3g %s/s, %.3g bytes/s, lag: %.2g s", l.name, l.count, l.what, l.rate, l.unit, l.bytes, l.lag)
}

// load reads what was kept, once. A damaged file is an error nobody is held up by: it counts anew.
func (t *totals) load() error {
	if t.file == "" || t.loaded {
		return nil
	}
	data, err := os.ReadFile(t.file)
	if err == nil {
		if err := json.Unmarshal(data, &t.all); err != nil {
			t.log.Warn("total not kept", "hook", t.name, "error", fmt.Errorf("cannot read %q: %w", t.file, err))
			t.all = counts{}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	t.loaded = true
	return nil
}

func (t *totals) save() error {
	if t.file == "" {
		return nil
	}
	data, err := json.Marshal(t.all)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(t.file), 0o700)
	}
	if err == nil {
		err = replace(t.file, append(data, '\n'))
	}
	return err
}

// replace has a file hold data, or after a power cut what it held before.
func replace(path string, data []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
