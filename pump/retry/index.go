package retry

import (
	"container/heap"
	"time"

	"github.com/cespare/xxhash/v2"
)

// An item is what memory holds of an entry; the rest is on the disk. Times are since the
// queue was opened, so that steps of the wall clock do not count.
type item struct {
	span
	id    id
	path  uint64 // xxhash64 of the path
	time  int64  // announced, in ns since 1970
	since time.Duration
	due   time.Duration
	same  *item // the next one of this path
	at    int   // place among the waiting or the ready, or one of the states below
	ready bool
}

const (
	inFlight = -1 - iota
	writing  // its line is not yet on the disk
	gone     // done, given up, cancelled or replaced
)

// waiting is a heap, the first one due on top.
type waiting []*item

func (w waiting) Len() int           { return len(w) }
func (w waiting) Less(i, j int) bool { return w[i].due < w[j].due }
func (w waiting) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].at, w[j].at = i, j
}
func (w *waiting) Push(x any) {
	it := x.(*item)
	it.at = len(*w)
	*w = append(*w, it)
}
func (w *waiting) Pop() any {
	last := len(*w) - 1
	it := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	return it
}

// ready is a heap of what is due, the one announced last on top.
type ready struct{ waiting }

func (r ready) Less(i, j int) bool { return r.waiting[i].time > r.waiting[j].time }

// An index finds items by id, by path and by time.
type index struct {
	ids   map[id]*item
	paths map[uint64]*item
	wait  waiting
	ready ready // what is due, when the newest goes first
}

func pathHash(p string) uint64 { return xxhash.Sum64String(p) }

func (x *index) add(it *item) {
	x.ids[it.id] = it
	it.same = x.paths[it.path]
	x.paths[it.path] = it
}

// schedule lets it wait, which does not wait already.
func (x *index) schedule(it *item) { heap.Push(&x.wait, it) }

// fly takes it from the waiting.
func (x *index) fly(it *item) {
	switch {
	case it.at < 0:
	case it.ready:
		heap.Remove(&x.ready, it.at)
	default:
		heap.Remove(&x.wait, it.at)
	}
	it.at, it.ready = inFlight, false
}

// due is the first of what is due at now, or nil.
func (x *index) due(now time.Duration) *item {
	if len(x.wait) == 0 || x.wait[0].due > now {
		return nil
	}
	return x.wait[0]
}

// newest is, of what is due at now, what was announced last; or what of its path was
// announced before, as the order of a path is kept.
func (x *index) newest(now time.Duration) *item {
	for it := x.due(now); it != nil; it = x.due(now) {
		x.fly(it)
		it.ready = true
		heap.Push(&x.ready, it)
	}
	if x.ready.Len() == 0 {
		return nil
	}
	first := x.ready.waiting[0]
	for it := x.paths[first.path]; it != nil; it = it.same {
		if it.ready && it.time < first.time {
			first = it
		}
	}
	return first
}

// remove takes it out of everything.
func (x *index) remove(it *item) {
	x.fly(it)
	it.at = gone
	if x.ids[it.id] == it {
		delete(x.ids, it.id)
	}
	for p := x.paths[it.path]; p != nil; p = p.same {
		if p == it {
			x.paths[it.path] = it.same
		} else if p.same == it {
			p.same = it.same
		}
	}
	if x.paths[it.path] == nil {
		delete(x.paths, it.path)
	}
	it.same = nil
}
