package winnow

import (
	"math/bits"
	"syscall"
	"unsafe"
)

// A mark is the last thing known of a slot, and the record of the log.
type mark struct {
	slot  digest
	key   digest // zero: something unknown took the place of what was there
	time  int64  // announced, in ns since 1970
	first int64  // first seen, in ns of the cache's clock; never 0
}

const markSize = int(unsafe.Sizeof(mark{}))

// A table maps slots to marks. Its shards are small, so that growing one is a
// pause of a few milliseconds at ten million marks, and they grow at different
// moments, so that the room used per mark stays even. The memory is not the
// collector's, which would keep as much again in reserve.
type table struct {
	shards [256]shard
	n      int
}

// A shard is an open-addressed table; a record whose first is 0 is empty.
type shard struct {
	recs []mark
	n    int
}

func shardOf(slot digest) int { return int(slot[0] >> 56) }

// find returns the mark in place, to be changed, or nil. It is good until the next put.
func (t *table) find(slot digest) *mark {
	s := &t.shards[shardOf(slot)]
	if s.n == 0 {
		return nil
	}
	if m := s.probe(slot); m.first != 0 {
		return m
	}
	return nil
}

// put adds or replaces the mark of a slot.
func (t *table) put(m mark) {
	i := shardOf(m.slot)
	s := &t.shards[i]
	if (s.n+1)*5 > len(s.recs)*4 {
		s.resize(max(len(s.recs)+len(s.recs)/3, firstSize(i)))
	}
	at := s.probe(m.slot)
	if at.first == 0 {
		s.n++
		t.n++
	}
	*at = m
}

// reserve makes room for n marks in an empty table.
func (t *table) reserve(n int) {
	for i := range t.shards {
		if size := n / len(t.shards) * 10 / 7; size > firstSize(i) {
			t.shards[i].resize(size + size*i/(6*len(t.shards)))
		}
	}
}

// sweep drops the marks of shard i first seen before limit and returns their number.
// It leaves a few where moving the rest would cost more.
func (t *table) sweep(i int, limit int64) int {
	s := &t.shards[i]
	old := 0
	for j := range s.recs {
		if f := s.recs[j].first; f != 0 && f < limit {
			old++
		}
	}
	if old == 0 || old*8 < s.n {
		return 0
	}
	before := s.n
	s.rebuild(max((before-old)*3/2, firstSize(i)), limit)
	t.n -= before - s.n
	return before - s.n
}

func (t *table) free() {
	for i := range t.shards {
		release(t.shards[i].recs)
	}
	*t = table{}
}

// firstSize is about a page, and differs from shard to shard by up to a third.
func firstSize(i int) int { return 84 + 84*i/(3*256) }

// probe returns the record of slot, or the empty one where it belongs.
func (s *shard) probe(slot digest) *mark {
	hi, _ := bits.Mul64(slot[0]<<8, uint64(len(s.recs)))
	for i := int(hi); ; {
		m := &s.recs[i]
		if m.first == 0 || m.slot == slot {
			return m
		}
		if i++; i == len(s.recs) {
			i = 0
		}
	}
}

func (s *shard) resize(size int) { s.rebuild(size, 0) }

func (s *shard) rebuild(size int, limit int64) {
	old := s.recs
	s.recs, s.n = allocate(size), 0
	for i := range old {
		if old[i].first != 0 && old[i].first >= limit {
			*s.probe(old[i].slot) = old[i]
			s.n++
		}
	}
	release(old)
}

// allocate maps zeroed memory; where the system refuses, the heap serves until it is full.
func allocate(n int) []mark {
	b, err := syscall.Mmap(-1, 0, n*markSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return make([]mark, n)
	}
	return unsafe.Slice((*mark)(unsafe.Pointer(&b[0])), n)
}

// release gives memory back to the system; memory of the heap, which is no mapping, is
// refused there and left to the collector.
func release(m []mark) {
	if len(m) == 0 {
		return
	}
	_ = syscall.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(&m[0])), len(m)*markSize))
}
