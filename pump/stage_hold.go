package pump

import "sync"

// The filter may hold more than the broker gives out at a time: what it holds is moved to disk and acknowledged
// when all that may be in hand is, for otherwise the one would wait for the other.

// relieve moves what the filter holds to disk when it would take more, nothing waits for it, and half of what the
// broker gives out at a time is in its hands while nothing more comes in.
func (s *stage) relieve() {
	f := s.f
	if len(f.slots) < cap(f.slots) || !s.relieving.CompareAndSwap(false, true) {
		return
	}
	waiting, held, room := s.filter.Counts()
	if waiting > 0 || room == 0 || 2*held < cap(f.slots) {
		s.relieving.Store(false)
		return
	}
	go func() {
		defer s.relieving.Store(false)
		s.hold()
	}()
}
