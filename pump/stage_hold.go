package pump

import (
	"log/slog"
	"sync"
	"sync/atomic"
)

// holdersAtOnce is how many announcements are written to disk at once: they share its syncs.
const holdersAtOnce = 64

// relieve moves what the filter holds to disk when that is what all waits for.
func (s *stage) relieve() {
	if s == nil || !s.crowded() || !s.holding.CompareAndSwap(false, true) {
		return
	}
	go func() {
		moved := s.hold()
		s.holding.Store(false)
		if moved > 0 { // what was given meanwhile has found it busy
			s.relieve()
		}
	}()
}

// crowded reports whether all the broker gives out at a time is in hand, half of it with the filter, which would
// take more: each waits for the other.
func (s *stage) crowded() bool {
	most := cap(s.f.slots)
	if len(s.f.slots) < most {
		return false
	}
	waiting, held, room := s.filter.Counts()
	return waiting == 0 && room > 0 && 2*held >= most
}

// hold moves to disk all that the filter has in hand, until the disk refuses, and returns how many announcements
// that were.
func (s *stage) hold() int {
	var writing sync.WaitGroup
	var moved atomic.Int64
	var refused atomic.Bool
	room := make(chan struct{}, holdersAtOnce)
	for _, j := range s.f.jobs.delivered() {
		room <- struct{}{}
		if refused.Load() {
			break
		}
		writing.Go(func() {
			defer func() { <-room }()
			held, err := s.holdJob(j)
			if held {
				moved.Add(1)
			}
			if err != nil && !refused.Swap(true) {
				s.f.host.Log.Error("not moved to disk", "path", j.came.Path, "error", err)
			}
		})
	}
	writing.Wait()
	return int(moved.Load())
}

func (s *stage) holdJob(j *job) (held bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over || j.input == nil || !s.filter.Holds(j.input) {
		return false, nil
	}
	err = s.f.toDisk(j)
	return err == nil, err
}

// withdraw takes back what no filter was given, but not what came from the disk: it is where it belongs.
func (s *stage) withdraw(j *job) bool {
	return s != nil && !j.due && j.input != nil && s.filter.Withdraw(j.input)
}

// rest has the filter answer for what it holds, once nothing else is under way.
func (s *stage) rest() {
	if s != nil && s.f.pool.idle() {
		s.filter.Flush()
	}
}

// dueAtOnce is how many announcements are taken from the disk at a time: what keeps the workers, and the filter,
// busy.
func (f *Flow) dueAtOnce() int {
	n := 4 * f.plan.workers
	if f.stage != nil {
		n += f.stage.filter.Window()
	}
	return n
}

// counts are how much is with the filter, for a log; nothing without one.
func (s *stage) counts() slog.Attr {
	if s == nil {
		return slog.Attr{}
	}
	waiting, held, _ := s.filter.Counts()
	n := &s.f.Counters
	return slog.Group("stage", "waiting", waiting, "held", held, "given", n.Staged.Load(), "dropped", n.Dropped.Load(), "made", n.Made.Load())
}
