package pump

import "sync"

// holdersAtOnce is how many announcements are written to disk at once: they share its syncs.
const holdersAtOnce = 64

// relieve moves what the filter holds to disk when all the broker gives out at a time is in hand, half of it with
// the filter, which would take more: otherwise each would wait for the other.
func (s *stage) relieve() {
	most := cap(s.f.slots)
	if len(s.f.slots) < most || !s.holding.CompareAndSwap(false, true) {
		return
	}
	waiting, held, room := s.filter.Counts()
	if waiting > 0 || room == 0 || 2*held < most {
		s.holding.Store(false)
		return
	}
	go func() {
		defer s.holding.Store(false)
		s.hold()
	}()
}

// hold moves to disk all that the filter has in hand.
func (s *stage) hold() {
	var writing sync.WaitGroup
	room := make(chan struct{}, holdersAtOnce)
	for _, j := range s.f.jobs.delivered() {
		room <- struct{}{}
		writing.Go(func() {
			defer func() { <-room }()
			s.holdJob(j)
		})
	}
	writing.Wait()
}

func (s *stage) holdJob(j *job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over || j.input == nil || !s.filter.Holds(j.input) {
		return
	}
	if err := s.f.toDisk(j); err != nil {
		s.f.host.Log.Error("not moved to disk", "path", j.came.Path, "error", err)
	}
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
