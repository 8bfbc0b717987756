package retry

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"srpump/post"
)

// edit does what an order says.
func (q *Queue) edit(o Order) (out Outcome, err error) {
	if o.Do != Requeue && o.Do != Drop {
		return out, fmt.Errorf("no order %q", o.Do)
	}
	if out.Waiting, err = q.editWaiting(o); err != nil {
		return out, err
	}
	return out, q.editDead(o, &out)
}

// editWaiting changes the entries meant that are not being worked on. They are on the disk when it
// returns.
func (q *Queue) editWaiting(o Order) (n int, err error) {
	q.mu.Lock()
	ids := slices.Collect(maps.Keys(q.index.ids))
	q.mu.Unlock()
	var written batches
	for _, key := range ids {
		b, err := q.editItem(key, o)
		if err != nil {
			return n, err
		}
		if b != nil {
			written.add(b)
			n++
		}
	}
	return n, written.wait(q)
}

// written locks mu once an entry is not about to be written; it is nil when there is none any more.
func (q *Queue) written(key id) *item {
	for {
		q.mu.Lock()
		it := q.index.ids[key]
		if it == nil || it.at != writing {
			return it
		}
		b := q.store.join(nil, func(int64, error) {})
		q.mu.Unlock()
		_ = q.store.wait(b) // whoever writes it has the error
	}
}

// editItem returns nil when the entry is not meant, or is done by now, or is to be tried again and
// just is.
func (q *Queue) editItem(key id, o Order) (*batch, error) {
	it := q.written(key)
	defer q.mu.Unlock()
	if it == nil || it.at == inFlight && o.Do != Drop {
		return nil, nil
	}
	a, s, err := q.read(it)
	if err != nil || !Matches(o.Patterns, a.Path) {
		return nil, err
	}
	if o.Do == Drop {
		line, err := encodeDone(a)
		if err != nil {
			return nil, err
		}
		return q.end(it, line), nil
	}
	return q.renew(a, it, s.why)
}

// renew puts an announcement in the queue as if it had failed for the first time, due now. The caller
// holds mu.
func (q *Queue) renew(a *post.Announcement, old *item, why string) (*batch, error) {
	now := q.opts.Now()
	s := state{since: now, after: now, class: Temporary, why: why}
	line, err := encodeLine(a, &s)
	if err != nil {
		return nil, err
	}
	it := q.newItem(a)
	it.due, it.since = now.Sub(q.start), now.Sub(q.start)
	return q.put(it, old, line), nil
}

// revive takes a dead letter back, unless the queue has what stands for it; the batch is nil then.
func (q *Queue) revive(a *post.Announcement, why string) (*batch, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	old := q.index.ids[idOf(a)]
	if old != nil && old.at != writing && old.time >= a.Time.Time().UnixNano() {
		return nil, nil
	}
	return q.renew(a, old, why)
}

// batches are those that hold lines somebody waits for.
type batches []*batch

func (w *batches) add(b *batch) {
	if b != nil && !slices.Contains(*w, b) {
		*w = append(*w, b)
	}
}

func (w batches) wait(q *Queue) (err error) {
	for _, b := range w {
		err = errors.Join(err, q.settle(b))
	}
	return err
}
