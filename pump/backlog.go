package pump

import (
	"container/heap"
	"context"
	"slices"
	"time"
)

// A backlog is the jobs of one host that no worker has begun. Two jobs of one path are never
// in it at once (see order), so the order it gives them out in changes none of a path.
type backlog struct {
	newest bool // the option order: the announcement made last comes first; else who came first
	heap   taskHeap
	came   uint64
}

type task struct {
	ctx  context.Context
	j    *job
	rank int64 // greater comes first
	came uint64
}

func (b *backlog) len() int { return len(b.heap) }

func (b *backlog) add(ctx context.Context, j *job) {
	b.came++
	t := task{ctx: ctx, j: j, came: b.came}
	if b.newest {
		t.rank = announcedAt(j)
	}
	heap.Push(&b.heap, t)
}

// announcedAt is the time a job was announced. One in the future, of a source whose clock is
// wrong, counts as when the job began, or its source would come first for ever.
func announcedAt(j *job) int64 {
	at := j.a.Time.Time()
	if j.began.Before(at) {
		at = j.began
	}
	return at.Sub(time.Unix(0, 0)).Nanoseconds()
}

func (b *backlog) next() task { return heap.Pop(&b.heap).(task) }

// withdraw takes a job out, if it is there.
func (b *backlog) withdraw(j *job) bool {
	i := slices.IndexFunc(b.heap, func(t task) bool { return t.j == j })
	if i >= 0 {
		heap.Remove(&b.heap, i)
	}
	return i >= 0
}

// taskHeap implements heap.Interface; among equals, who came first is first.
type taskHeap []task

func (h taskHeap) Len() int { return len(h) }

func (h taskHeap) Less(i, k int) bool {
	if h[i].rank != h[k].rank {
		return h[i].rank > h[k].rank
	}
	return h[i].came < h[k].came
}

func (h taskHeap) Swap(i, k int) { h[i], h[k] = h[k], h[i] }
func (h *taskHeap) Push(x any)   { *h = append(*h, x.(task)) }

func (h *taskHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = task{}
	*h = (*h)[:last]
	return t
}
