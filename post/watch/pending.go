package watch

import (
	"container/heap"
	"sync"
	"time"
)

// A mark is what was noticed about a path; several add up.
type mark uint8

const (
	content mark = 1 << iota // created or written
	attrib                   // times, mode, owner or link count
	found                    // met by a re-read or re-walk, without an event
	gone                     // deleted or moved away
	goneDir                  // the same, of a directory known to be one
	renamed                  // what has this name had another before
)

// An entry is one path of the pending set. Times count from the set's start, on
// the monotonic clock, so that clock steps do not matter.
type entry struct {
	path        string
	first, last time.Duration // noticed first, and last
	hold        time.Duration // the quiet time it needs
	until       time.Duration // not before this, whatever else
	at          time.Duration // its place in the heap: never later than due
	seq         uint64        // breaks ties in the order of arrival
	marks       mark
	from        string   // the name it was reported under; its removal is reported with this entry
	to          string   // of a directory that is gone: its new name
	spared      []string // what was met below to and not noted, since it is known from below path
	held        bool     // it waits, whatever its times are
	void        bool     // no longer in the set, though still in the heap
}

// due is when the entry may be reported: after a quiet time, or when it has
// been restless for long.
func (e *entry) due(limit time.Duration) time.Duration {
	return max(min(e.last+e.hold, e.first+limit), e.until)
}

// pending holds what was noticed and not yet reported, keyed by path, and so is
// bounded by the number of distinct paths. Noticing a path again costs one map
// look-up: the heap is put right only when the entry comes to its top.
type pending struct {
	start time.Time
	limit time.Duration // the longest an unquiet path is held back
	wake  chan struct{} // something is due earlier than thought

	mu     sync.Mutex
	byPath map[string]*entry
	heap   entryHeap
	seq    uint64
}

func newPending(limit time.Duration) *pending {
	return &pending{
		start: time.Now(), limit: limit,
		wake:   make(chan struct{}, 1),
		byPath: make(map[string]*entry),
	}
}

// touch notes that something happened to path; it is reported when nothing more
// has for the time hold.
func (p *pending) touch(path string, m mark, hold time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.note(path, m, hold)
	if m&content != 0 && e.from != "" {
		p.part(e)
	}
}

// note is touch, under the lock.
func (p *pending) note(path string, m mark, hold time.Duration) *entry {
	now := time.Since(p.start)
	e := p.byPath[path]
	if e == nil {
		e = &entry{path: path, first: now, last: now, hold: hold, marks: m}
		p.insert(e)
		return e
	}
	frozen := e.marks&goneDir != 0
	e.marks |= m
	if frozen {
		// The removal of a directory must come before what is found in the
		// next one of that name, so nothing puts it off.
		return e
	}
	e.last = now
	if m&(gone|goneDir) == 0 {
		hold = max(e.hold, hold)
	}
	e.hold = hold
	if m&found != 0 {
		// What a re-read finds belongs after the removal of the directory
		// that was there before, even when the same path was restless then.
		e.first = now
	}
	return e
}

func (p *pending) insert(e *entry) {
	p.seq++
	e.seq, e.at = p.seq, e.due(p.limit)
	p.byPath[e.path] = e
	heap.Push(&p.heap, e)
	if p.heap[0] == e {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

// heldPause is how long an entry that is held is left alone.
const heldPause = 5 * time.Millisecond

// take removes and returns up to n entries that are due, in the order they
// became due; when there is none, wait says how long until the next may be.
func (p *pending) take(n int) (due []*entry, wait time.Duration) {
	now := time.Since(p.start)
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.heap) > 0 && len(due) < n {
		e := p.heap[0]
		if e.void {
			heap.Pop(&p.heap)
			continue
		}
		if e.held && e.at <= now {
			e.at = now + heldPause
			heap.Fix(&p.heap, 0)
			continue
		}
		if at := e.due(p.limit); at > e.at {
			e.at = at
			heap.Fix(&p.heap, 0)
			continue
		}
		if e.at > now {
			return due, e.at - now
		}
		heap.Pop(&p.heap)
		delete(p.byPath, e.path)
		due = append(due, e)
	}
	return due, time.Hour
}

// giveBack returns an entry that was taken and not reported. It is not due
// again before the time after has passed.
func (p *pending) giveBack(e *entry, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if newer := p.byPath[e.path]; newer != nil {
		newer.marks |= e.marks
		newer.first = min(newer.first, e.first)
		p.part(e)
		return
	}
	e.until = time.Since(p.start) + after
	p.insert(e)
}

// quietFor is how long ago the last event of an entry was.
func (p *pending) quietFor(e *entry) time.Duration { return time.Since(p.start) - e.last }

func (p *pending) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.byPath)
}

// paths are all that wait and the names they were reported under, each with what was noticed about it.
func (p *pending) paths() map[string]mark {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[string]mark, len(p.byPath))
	for path, e := range p.byPath {
		all[path] |= e.marks
		if e.from != "" {
			all[path] |= renamed
			all[e.from] |= gone
		}
	}
	return all
}

// entryHeap is ordered by time, then by arrival.
type entryHeap []*entry

func (h entryHeap) Len() int { return len(h) }
func (h entryHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].seq < h[j].seq
}
func (h entryHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *entryHeap) Push(x any)   { *h = append(*h, x.(*entry)) }
func (h *entryHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}
