package winnow

import "slices"

// A Token stands for one offered announcement. The zero Token holds nothing.
type Token struct{ c *claim }

// A claim is one announcement that waits for, or is at, its work.
type claim struct {
	sight
	hold *hold
	fn   func(promoted bool) // set while parked
}

// A hold is a key being worked on, and the copies that wait for the outcome.
type hold struct {
	key    digest
	first  int64 // first seen, in ns of the cache's clock
	holder *claim
	parked []*claim // first parked first
}

// An event is what a hold will do to a path: lanes keep them in order of arrival.
type event struct {
	hold   *hold
	slot   digest
	key    digest // zero: what was there is gone
	layout uint32
	time   int64
}

func (c *claim) holds() bool { return c.hold.holder == c }

// take makes the holder of a fresh sight.
func (c *Cache) take(s sight, now int64) *claim {
	cl := &claim{sight: s}
	cl.hold = &hold{key: s.key, first: now, holder: cl}
	c.lanes[s.whole] = append(c.lanes[s.whole], event{cl.hold, s.slot, s.key, s.layout, s.time})
	if s.old != (digest{}) {
		c.lanes[s.old] = append(c.lanes[s.old], event{cl.hold, s.old, digest{}, 0, s.time})
	}
	if s.key != (digest{}) {
		c.byKey[s.key] = cl.hold
	}
	return cl
}

// lastEvent is the last thing under way that says something of the slot of s: another block of
// the same file does not, unless the file is cut differently. With many sources the last
// is the one announced last, with one source the one that arrived last.
func (c *Cache) lastEvent(s *sight) *event {
	var last *event
	lane := c.lanes[s.whole]
	for i := range lane {
		e := &lane[i]
		if e.slot != s.slot && e.layout == s.layout {
			continue
		}
		if last == nil || c.opts.Mode == One || e.time >= last.time {
			last = e
		}
	}
	return last
}

// end takes a hold out and returns the copies that waited.
func (c *Cache) end(h *hold) []*claim {
	for _, lane := range []digest{h.holder.whole, h.holder.old} {
		c.leave(lane, h)
	}
	if c.byKey[h.key] == h {
		delete(c.byKey, h.key)
	}
	parked := h.parked
	h.holder, h.parked = nil, nil
	return parked
}

func (c *Cache) leave(lane digest, h *hold) {
	es, there := c.lanes[lane]
	if !there {
		return
	}
	if es = slices.DeleteFunc(es, func(e event) bool { return e.hold == h }); len(es) == 0 {
		delete(c.lanes, lane)
	} else {
		c.lanes[lane] = es
	}
}

// Park leaves a copy for which Offer said Held with its holder. Later fn is called
// once: with false when the holder committed, so that the copy is to be dropped and
// acknowledged; with true when the holder failed and this copy, the first parked, is now
// the holder, whose token is to be committed or released. fn runs in the goroutine
// that commits or releases and may use the cache. Park returns false, and fn is
// never called, when the holder is gone already: offer again.
func (c *Cache) Park(t Token, fn func(promoted bool)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.c == nil || t.c.fn != nil || t.c.hold.holder == nil || t.c.holds() {
		return false
	}
	t.c.fn = fn
	t.c.hold.parked = append(t.c.hold.parked, t.c)
	return true
}

// Release gives a token up. When it held, its fingerprint is free again or the first
// parked copy is promoted; when it was parked, the copy is forgotten without a call of its function.
func (c *Cache) Release(t Token) {
	if t.c == nil {
		return
	}
	if next := c.handOver(t.c); next != nil {
		answer([]*claim{next}, true)
	}
}

func (c *Cache) handOver(cl *claim) (next *claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := cl.hold
	if !cl.holds() {
		h.parked = slices.DeleteFunc(h.parked, func(p *claim) bool { return p == cl })
		return nil
	}
	c.stats.Released++
	if len(h.parked) == 0 {
		c.end(h)
		return nil
	}
	next, h.parked = h.parked[0], h.parked[1:]
	c.promote(h, next)
	return next
}

// promote makes next the holder, in the place of the one before: its path and time count now.
func (c *Cache) promote(h *hold, next *claim) {
	before := h.holder
	h.holder = next
	lane := c.lanes[before.whole]
	if before.whole == next.whole && before.old == next.old && len(lane) > 0 {
		for i := range lane {
			if lane[i].hold == h && lane[i].slot == next.slot {
				lane[i].time = next.time
			}
		}
		return
	}
	c.leave(before.whole, h)
	c.leave(before.old, h)
	c.lanes[next.whole] = append(c.lanes[next.whole], event{h, next.slot, next.key, next.layout, next.time})
	if next.old != (digest{}) {
		c.lanes[next.old] = append(c.lanes[next.old], event{h, next.old, digest{}, 0, next.time})
	}
}

func answer(parked []*claim, promoted bool) {
	for _, p := range parked {
		p.fn(promoted)
	}
}
