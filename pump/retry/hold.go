package retry

import (
	"time"

	"srpump/post"
)

// Hold takes in an announcement that is being worked on and may take long: once it returns,
// the entry is on the disk and in flight, and its message may be acknowledged. After a kill it is
// due at once. An entry of the same announcement that is there already stands for it.
func (q *Queue) Hold(a *post.Announcement, why string) (*Entry, error) {
	now := q.opts.Now()
	s := state{since: now, after: now, class: Temporary, why: cut(why, maxWhy)}
	line, err := encodeLine(a, &s)
	if err != nil {
		return nil, err
	}
	it := q.newItem(a)
	it.due = now.Sub(q.start) + time.Hour // not to be taken out before it is in flight
	e := &Entry{Announcement: a, Class: s.class, Why: s.why, Since: s.since, item: it}
	q.mu.Lock()
	if old := q.index.ids[it.id]; old != nil && old.at != writing && old.time >= it.time {
		q.index.fly(old)
		e.item = old
		q.mu.Unlock()
		return e, nil
	}
	b := q.put(it, q.index.ids[it.id], line)
	q.mu.Unlock()
	if err := q.store.wait(b); err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if it.at != gone {
		q.index.fly(it)
	}
	return e, nil
}

// Postpone puts an entry in flight back, untried, to be due after d. It does nothing when
// the entry was ended meanwhile.
func (q *Queue) Postpone(e *Entry, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.item.at == inFlight {
		e.item.due = q.opts.Now().Sub(q.start) + d
		q.index.schedule(e.item)
	}
}
