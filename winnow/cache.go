package winnow

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"srpump/post"
)

// A Cache knows what was announced. Its methods may be called from many goroutines.
type Cache struct {
	opts  Options
	clock *clock
	log   *segments // nil when memory only

	mu     sync.Mutex
	marks  table // by slot
	seen   table // by key: superseded ones; with another basis than Path, all
	lanes  map[digest][]event
	byKey  map[digest]*hold
	hints  *sums
	stats  Stats
	closed bool

	sweeping sync.Mutex // taken before all others

	stop chan struct{}
	idle sync.WaitGroup
}

// Open makes a cache and reads what the last one in Dir left: all that Commit
// returned nil for and whose time to live is not over. Damaged frames are reported
// to the logger and left out. Errors wrap ErrBusy or ErrNewer, or are those of the file system.
func Open(o Options) (*Cache, error) {
	if o.TTL <= 0 {
		return nil, fmt.Errorf("cannot open cache: time to live is %v", o.TTL)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Cache{opts: o, clock: newClock(o.Now), lanes: map[digest][]event{}, byKey: map[digest]*hold{}, hints: &sums{}, stop: make(chan struct{})}
	if o.Dir != "" {
		if err := c.load(); err != nil {
			c.marks.free()
			c.seen.free()
			return nil, fmt.Errorf("cannot open cache %q: %w", o.Dir, err)
		}
	}
	c.idle.Add(1)
	go c.keep()
	return c, nil
}

// farAhead is how many ns a source's clock may be ahead of ours, with room for one that
// sends local time: a date in the far future must not win for ever.
const farAhead = int64(24 * time.Hour)

// Offer asks whether a may be passed on. After Fresh the caller holds it and must
// Commit or Release the token. After Held it must Park, or Release to forget the copy.
// Duplicate has the zero token, which Release and Commit take for nothing to do.
func (c *Cache) Offer(a *post.Announcement) (Verdict, Token) {
	s := sightOf(a, c.opts.Basis)
	now := c.clock.now()
	s.time = min(s.time, now+farAhead)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.bytes != 0 && c.hints.other(s.bytes, s.whole) {
		c.stats.EqualSums++
	}
	v, h := c.judge(&s, now)
	switch v {
	case Duplicate:
		c.stats.Duplicate++
		return Duplicate, Token{}
	case Held:
		c.stats.Held++
		return Held, Token{&claim{sight: s, hold: h}}
	}
	c.stats.Fresh++
	return Fresh, Token{c.take(s, now)}
}

// judge decides; with Held it names the hold to wait for. The sequences it answers to
// are listed at the tests of this file.
func (c *Cache) judge(s *sight, now int64) (Verdict, *hold) {
	if s.key == (digest{}) {
		return Fresh, nil
	}
	m, known := c.current(s, now)
	key, at := m.key, m.time
	if e := c.lastEvent(s); e != nil && !(known && c.overtook(&m, e)) {
		if e.key == s.key {
			return Held, e.hold
		}
		key, at, known = e.key, e.time, true
	}
	switch {
	case known && key == s.key:
		return Duplicate, nil
	case known && (c.opts.Mode == One || s.time > at):
		return Fresh, nil // the path changed, perhaps back to what it once was
	}
	if h := c.byKey[s.key]; h != nil {
		return Held, h
	}
	if c.committed(s, now) {
		return Duplicate, nil // a late copy of what has been superseded
	}
	return Fresh, nil
}

// overtook reports whether m, though committed, comes after e, still under way.
func (c *Cache) overtook(m *mark, e *event) bool {
	if c.opts.Mode == One {
		return m.first > e.hold.first
	}
	return m.time > e.time
}

// committed reports whether the key was announced within the time to live.
func (c *Cache) committed(s *sight, now int64) bool {
	if c.live(c.seen.find(s.key), now) {
		return true
	}
	m := c.marks.find(s.slot)
	return c.live(m, now) && m.key == s.key
}

func (c *Cache) live(m *mark, now int64) bool { return m != nil && m.first+int64(c.opts.TTL) > now }

// Commit records that what the token holds was announced and confirmed: from now on it
// is a duplicate, and its parked copies are dropped. Once Commit returned nil this
// survives a kill; a power cut may forget the last second, which makes duplicates only.
// After an error nothing changed and the token still holds.
func (c *Cache) Commit(t Token) error { return c.CommitAll([]Token{t}) }

// CommitAll is Commit for many tokens at once, written together: all or none. Functions
// given to Park run in the caller's goroutine before it returns.
func (c *Cache) CommitAll(ts []Token) error {
	var parked []*claim
	defer func() { answer(parked, false) }()
	if c.log == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		recs, err := c.records(ts)
		if err == nil {
			parked = c.settle(ts, recs)
		}
		return err
	}
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	c.mu.Lock()
	recs, err := c.records(ts)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if err := c.log.append(recs, c.clock.now()); err != nil {
		return fmt.Errorf("cannot write cache %q: %w", c.opts.Dir, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	parked = c.settle(ts, recs)
	return nil
}

// records are the marks that tokens amount to.
func (c *Cache) records(ts []Token) ([]mark, error) {
	if c.closed {
		return nil, ErrClosed
	}
	recs := make([]mark, 0, len(ts))
	for _, t := range ts {
		if t.c == nil {
			continue
		}
		if !t.c.holds() {
			return nil, ErrNotHeld
		}
		recs = c.appendMarks(recs, &t.c.sight, t.c.hold.first)
	}
	return recs, nil
}

// settle applies written records and returns the copies to be dropped.
func (c *Cache) settle(ts []Token, recs []mark) (parked []*claim) {
	for i := range recs {
		c.apply(recs[i], c.clock.now())
	}
	for _, t := range ts {
		if t.c != nil && t.c.holds() {
			c.stats.Committed++
			parked = append(parked, c.end(t.c.hold)...)
		}
	}
	return parked
}

// Len is the number of slots with a mark, those about to expire included.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.marks.n
}

// Stats returns the counters.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Close ends the background work and syncs the log. What is held is free again.
func (c *Cache) Close() error {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	if again {
		return nil
	}
	close(c.stop)
	c.idle.Wait()
	var err error
	if c.log != nil {
		err = c.log.close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.marks.free()
	c.seen.free()
	return err
}
