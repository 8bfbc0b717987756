package pump

import (
	"crypto/sha256"
	"path"
	"sync"
	"time"
)

// An order serialises work over the paths it touches, in arrival order
// (sr_subscribe(1), ORDER). Work on a file excludes other work on it and waits for a
// removal of one of its directories; a removal excludes everything below. Blocks of one version of a
// file go together.
type order struct {
	mu       sync.Mutex
	lanes    map[string]*lane
	received recent // path → time of the announcement it has
}

func newOrder() *order { return &order{lanes: make(map[string]*lane)} }

// A turn is one piece of work waiting for, or having, its paths to itself.
type turn struct {
	waits  int
	claims []*claim
	run    func()
	with   string // turns of one path that all say so go together; empty: alone
}

// A lane is the work queued on one path: groups that share it, one after another.
type lane struct{ groups []*claim }

// A claim is one group of a lane: one turn alone, or several that go together, as those do that
// only pass through the directory.
type claim struct {
	path    string
	with    string
	members int
	waiting []*turn
}

// enter queues a turn that touches these absolute paths: other work on them, and on
// what is above or below, waits. t.run is called, by enter or by a leave, once the work may
// begin; it must not block.
func (o *order) enter(t *turn, paths ...string) {
	o.mu.Lock()
	for _, p := range paths {
		o.claim(t, p, t.with)
	}
	for _, p := range paths {
		for d := path.Dir(p); d != "/"; d = path.Dir(d) {
			o.claim(t, d, through)
		}
	}
	ready := t.waits == 0
	o.mu.Unlock()
	if ready {
		t.run()
	}
}

// through is what turns have in common that only pass through a directory.
const through = "/"

// tryEnter is enter for a turn that would rather not wait: it has the path at once, without
// t.run being called, or nothing happened.
func (o *order) tryEnter(t *turn, p string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lanes[p] != nil {
		return false
	}
	for d := path.Dir(p); d != "/"; d = path.Dir(d) {
		if l := o.lanes[d]; l != nil && (len(l.groups) > 1 || l.groups[0].with != through) {
			return false
		}
	}
	o.claim(t, p, t.with)
	for d := path.Dir(p); d != "/"; d = path.Dir(d) {
		o.claim(t, d, through)
	}
	return true
}

// claim joins the last group of the lane or opens one. What a turn has claimed already
// (a directory two of its paths lie in) it does not claim again; the paths
// themselves come first.
func (o *order) claim(t *turn, key, with string) {
	for _, c := range t.claims {
		if c.path == key {
			return
		}
	}
	l := o.lanes[key]
	if l == nil {
		l = &lane{}
		o.lanes[key] = l
	}
	var c *claim
	if n := len(l.groups); n > 0 && with != "" && l.groups[n-1].with == with {
		c = l.groups[n-1]
	} else {
		c = &claim{path: key, with: with}
		l.groups = append(l.groups, c)
	}
	c.members++
	t.claims = append(t.claims, c)
	if l.groups[0] != c {
		c.waiting = append(c.waiting, t)
		t.waits++
	}
}

// leave ends a turn; what waited for it may begin.
func (o *order) leave(t *turn) {
	var ready []*turn
	o.mu.Lock()
	for _, c := range t.claims {
		if c.members--; c.members > 0 {
			continue
		}
		l := o.lanes[c.path]
		l.groups = l.groups[1:]
		if len(l.groups) == 0 {
			delete(o.lanes, c.path)
			continue
		}
		next := l.groups[0]
		for _, w := range next.waiting {
			if w.waits--; w.waits == 0 {
				ready = append(ready, w)
			}
		}
		next.waiting = nil
	}
	o.mu.Unlock()
	for _, w := range ready {
		w.run()
	}
}

// has reports whether the path has what was announced later than t.
func (o *order) has(full string, t time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	last, ok := o.received.get(pathKey(full))
	return ok && t.Before(last)
}

// last is the time of the announcement that the path has, if it is known.
func (o *order) last(full string) (time.Time, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.received.get(pathKey(full))
}

// note records that the path now has what was announced at t.
func (o *order) note(full string, t time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.received.put(pathKey(full), t)
}

// A key stands for a path, which a stranger may make long.
type key [16]byte

func pathKey(full string) key {
	sum := sha256.Sum256([]byte(full))
	return key(sum[:])
}

// recent is a map that forgets: at least its latest half entries are known.
type recent struct{ young, old map[key]time.Time }

const recentHalf = 50_000

func (r *recent) get(k key) (time.Time, bool) {
	if t, ok := r.young[k]; ok {
		return t, true
	}
	t, ok := r.old[k]
	return t, ok
}

func (r *recent) put(k key, t time.Time) {
	if r.young == nil || len(r.young) >= recentHalf {
		r.old, r.young = r.young, make(map[key]time.Time)
	}
	r.young[k] = t
}
