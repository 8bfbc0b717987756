package retry

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"srpump/post"
)

// Due takes out up to n entries whose time has come at now, the first due first, or with
// Options.NewestFirst the one announced last. Each is in flight until Done, Fail or Cancel.
func (q *Queue) Due(now time.Time, n int) []*Entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	next := q.index.due
	if q.opts.NewestFirst {
		next = q.index.newest
	}
	var out []*Entry
	for len(out) < n {
		it := next(now.Sub(q.start))
		if it == nil {
			break
		}
		q.index.fly(it)
		a, s, err := q.read(it)
		if err != nil {
			q.opts.Logger.Error("damaged line", "file", q.path, "offset", it.offset, "error", err)
			q.index.remove(it)
			continue
		}
		out = append(out, &Entry{Announcement: a, Tries: s.tries, Class: s.class, Why: s.why, Since: s.since, item: it})
	}
	return out
}

func (q *Queue) read(it *item) (*post.Announcement, state, error) {
	line, err := q.store.line(it.offset, it.length)
	if err != nil {
		return nil, state{}, err
	}
	a, s, _, err := decodeLine(line)
	return a, s, err
}

// Done ends an entry that succeeded. It does nothing when the entry was cancelled or
// replaced meanwhile.
func (q *Queue) Done(e *Entry) error {
	line, err := encodeDone(e.Announcement)
	if err != nil {
		return err
	}
	q.mu.Lock()
	if e.item.at != inFlight {
		q.mu.Unlock()
		return nil
	}
	b := q.end(e.item, line)
	q.mu.Unlock()
	return q.settle(b)
}

// end takes it out, on the disk with the next batch; when that fails it waits to be tried again.
func (q *Queue) end(it *item, line []byte) *batch {
	q.index.remove(it)
	q.states[it] = true
	return q.store.join(line, func(_ int64, err error) {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.states, it)
		if err == nil {
			q.lines++
		} else if q.index.ids[it.id] == nil {
			q.index.add(it)
			q.index.schedule(it)
		}
	})
}

// settle waits for b, and makes room where most lines are of entries that ended.
func (q *Queue) settle(b *batch) error {
	if err := q.store.wait(b); err != nil {
		return err
	}
	if err := q.compact(); err != nil {
		q.opts.Logger.Warn("retry queue not compacted", "error", err) // it only stays large
	}
	return nil
}

// Fail puts an entry back, later than the last time, or gives it up: then it is in the
// dead-letter file. It does nothing when the entry was cancelled or replaced meanwhile.
func (q *Queue) Fail(e *Entry, class Class, why string) (gaveUp bool, err error) {
	now := q.opts.Now()
	q.mu.Lock()
	if e.item.at != inFlight {
		q.mu.Unlock()
		return false, nil
	}
	_, s, err := q.read(e.item)
	if s.since.IsZero() {
		s.since = now
	}
	if s.tries == 0 { // it was held, perhaps for long, and fails for the first time
		s.since, e.item.since = now, now.Sub(q.start)
	}
	q.mu.Unlock()
	if err != nil {
		return false, err
	}
	if q.fail(&s, class, why, now, now.Sub(q.start)-e.item.since) {
		if err := q.giveUp(e.Announcement, &s, now); err != nil {
			return false, err
		}
		return true, q.Done(e)
	}
	line, err := encodeLine(e.Announcement, &s)
	if err != nil {
		return false, err
	}
	return false, q.later(e, line, s.after)
}

func (q *Queue) later(e *Entry, line []byte, after time.Time) error {
	q.mu.Lock()
	if e.item.at != inFlight {
		q.mu.Unlock()
		return nil
	}
	it := q.newItem(e.Announcement)
	it.due, it.since = after.Sub(q.start), e.item.since
	b := q.put(it, e.item, line)
	q.mu.Unlock()
	return q.settle(b)
}

// Cancel ends the entries of path announced at notAfter or before: a removal or a newer
// announcement took their place. It returns their number.
func (q *Queue) Cancel(path string, notAfter time.Time) (n int, err error) {
	var last *batch
	q.mu.Lock()
	for it := q.index.paths[pathHash(path)]; it != nil; {
		next := it.same
		if it.time <= notAfter.UnixNano() && it.at != writing {
			a, _, readErr := q.read(it)
			if readErr == nil && a.Path == path {
				var line []byte
				if line, readErr = encodeDone(a); readErr == nil {
					last = q.end(it, line)
					n++
				}
			}
			err = errors.Join(err, readErr)
		}
		it = next
	}
	q.mu.Unlock()
	if last == nil {
		return n, err
	}
	return n, errors.Join(err, q.settle(last))
}

// compact rewrites the file when it holds four times the lines needed.
func (q *Queue) compact() error {
	q.mu.Lock()
	worth := q.lines > 4*len(q.index.ids)+1000
	q.mu.Unlock()
	if !worth {
		return nil
	}
	q.store.write.Lock()
	defer q.store.write.Unlock()
	q.mu.Lock()
	defer q.mu.Unlock()
	var spans []*span
	for _, it := range q.index.ids {
		if it.length > 0 {
			spans = append(spans, &it.span)
		}
	}
	for it := range q.states {
		if it != nil && it.length > 0 {
			spans = append(spans, &it.span)
		}
	}
	q.lines = len(spans)
	return q.store.rewrite(spans)
}

// cut shortens a reason to n bytes of whole characters on one line.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, "?")
	for len(s) > n {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}
