package pump

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// What others may ask while a run goes on, to tell whether it gets on.

// InHand is how many announcements the flow has begun and not done, and when the oldest of
// them was begun; the zero time without any. What is with the filter of a stage is not counted: it may take
// its time, and stage_timeout says how much.
func (f *Flow) InHand() (n int, oldest time.Time) {
	staged := 0
	if s := f.filters.Load(); s != nil {
		waiting, held, _ := s.Counts()
		staged = waiting + held
	}
	f.jobs.mu.Lock()
	defer f.jobs.mu.Unlock()
	for j := range f.jobs.jobs {
		if oldest.IsZero() || j.began.Before(oldest) {
			oldest = j.began
		}
	}
	return max(0, len(f.jobs.jobs)-staged), oldest
}

// Retries is how many announcements wait on disk to be tried again.
func (f *Flow) Retries() int {
	if q := f.opened.Load(); q != nil {
		return q.Len()
	}
	return 0
}

// Count are the counters of the flow.
func (f *Flow) Count() map[string]int64 {
	n := f.Counters.byName()
	if s := f.filters.Load(); s != nil {
		waiting, held, _ := s.Counts()
		n["stage_waiting"], n["stage_held"] = int64(waiting), int64(held)
		n["staged"], n["dropped"] = f.Counters.Staged.Load(), f.Counters.Dropped.Load()
		n["made"], n["made_again"] = f.Counters.Made.Load(), f.Counters.MadeAgain.Load()
	}
	return n
}

// InHand is how many paths are to be announced and not confirmed. Since when is not known.
func (p *Poster) InHand() (n int, oldest time.Time) {
	p.owed.mu.Lock()
	defer p.owed.mu.Unlock()
	return len(p.owed.n), time.Time{}
}

// Retries is 0: a poster asks again what is there.
func (p *Poster) Retries() int { return 0 }

// Count are the counters of the poster.
func (p *Poster) Count() map[string]int64 { return p.Counters.byName() }

// byName are the counters by the names they have in logs.
func (n *Counters) byName() map[string]int64 {
	return map[string]int64{
		"received": n.Received.Load(), "rejected": n.Rejected.Load(), "winnowed": n.Winnowed.Load(), "fetched": n.Fetched.Load(),
		"linked": n.Linked.Load(), "removed": n.Removed.Load(), "renamed": n.Renamed.Load(), "unchanged": n.Unchanged.Load(), "announced": n.Announced.Load(),
		"unrouted": n.Unrouted.Load(), "bytes": n.Bytes.Load(), "moved": n.Moved.Load(), "retried": n.Retried.Load(), "given_up": n.GivenUp.Load(), "incomplete": n.Incomplete.Load(),
		"malformed": n.Malformed.Load(), "failed": n.Failed.Load(), "superseded": n.Superseded.Load(), "retired": n.Retired.Load(),
		"blocks": n.Blocks.Load(), "blocks_kept": n.BlocksKept.Load(),
	}
}

func (h *Host) ready() {
	if h.Ready != nil {
		h.Ready()
	}
}

func (h *Host) paused(why error) {
	if h.Paused != nil {
		h.Paused(why)
	}
}

// links are the connections of a host, and what ails each.
type links struct {
	mu   sync.Mutex
	made int
	away map[int]error
}

// add returns what a connection tells its state; away is told that of all of them.
func (l *links) add(away func(error)) func(error) {
	if away == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made++
	me := l.made
	return func(why error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.away == nil {
			l.away = make(map[int]error)
		}
		delete(l.away, me)
		if why != nil {
			l.away[me] = why
		}
		away(l.first())
	}
}

// first is the trouble of the connection made first among those that have any.
func (l *links) first() error {
	if len(l.away) == 0 {
		return nil
	}
	return l.away[slices.Min(slices.Collect(maps.Keys(l.away)))]
}
