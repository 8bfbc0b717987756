package retry

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"srpump/post"
)

// Names of the files in the directory of a queue.
const (
	queueFile      = "retry.jsonl"
	deadLetterFile = "dead_letter.jsonl"
)

const (
	firstDelay = time.Second
	maxDelay   = 5 * time.Minute
)

// A Queue holds announcements to be tried again. Its methods may be called from many goroutines.
type Queue struct {
	opts  Options
	path  string // of the queue's file
	lock  *os.File
	start time.Time
	store *store
	dead  *DeadLetter

	mu     sync.Mutex // taken after store.write, before store.mu
	index  index
	states map[*item]bool // items taken out whose last line is not yet on the disk
	lines  int            // in the file
}

// Open reads the queue in dir, made when missing. Damaged lines are reported with file and line
// and left out. Errors wrap ErrBusy or are those of the file system.
func Open(dir string, o Options) (*Queue, error) {
	o.fill()
	q := &Queue{opts: o, path: filepath.Join(dir, queueFile), start: o.Now(), index: index{ids: map[id]*item{}, paths: map[uint64]*item{}}, states: map[*item]bool{},
		dead: OpenDeadLetter(filepath.Join(dir, deadLetterFile))}
	if err := q.open(dir); err != nil {
		return nil, fmt.Errorf("cannot open retry queue %q: %w", dir, err)
	}
	return q, nil
}

func (q *Queue) open(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if q.lock, err = os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if err = syscall.Flock(int(q.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrBusy
	}
	if err == nil {
		q.store, err = openStore(q.path, q.opts.NoSync, q.load)
	}
	if err != nil {
		q.lock.Close()
	}
	return err
}

// load takes one line of the file.
func (q *Queue) load(offset int64, line []byte) error {
	q.lines++
	if len(line) == 0 {
		return nil
	}
	a, s, done, err := decodeLine(line)
	if err != nil {
		q.opts.Logger.Warn("damaged line", "file", fmt.Sprintf("%s:%d", q.path, q.lines), "error", err)
		return err
	}
	it := q.newItem(a)
	if old := q.index.ids[it.id]; old != nil {
		q.index.remove(old)
	}
	if done {
		return nil
	}
	// a clock set back since the line was written must not make it wait for longer
	it.due = min(s.after.Sub(q.start), maxDelay*5/4)
	if !s.since.IsZero() {
		it.since = min(s.since.Sub(q.start), 0)
	}
	it.span = span{offset, len(line)}
	q.index.add(it)
	q.index.schedule(it)
	return nil
}

func (q *Queue) newItem(a *post.Announcement) *item {
	return &item{id: idOf(a), path: pathHash(a.Path), time: a.Time.Time().UnixNano(), at: writing}
}

// DeadLetter is where the queue records what it gives up; others may write there too.
func (q *Queue) DeadLetter() *DeadLetter { return q.dead }

// Add takes in an announcement that failed. When it returns nil the entry is on the disk and
// its message may be acknowledged; gaveUp says that it was recorded as a dead letter
// instead. An entry of the same relpath, sum and parts is replaced by a newer
// announcement and stands before an older or equal one.
func (q *Queue) Add(a *post.Announcement, class Class, why string) (gaveUp bool, err error) {
	now := q.opts.Now()
	s := state{since: now}
	if q.fail(&s, class, why, now, 0) {
		return true, q.giveUp(a, &s, now)
	}
	line, err := encodeLine(a, &s)
	if err != nil {
		return false, err
	}
	it := q.newItem(a)
	it.due, it.since = s.after.Sub(q.start), now.Sub(q.start)
	q.mu.Lock()
	old := q.index.ids[it.id]
	if old != nil && old.at != writing && old.time >= it.time {
		q.mu.Unlock()
		return false, nil
	}
	b := q.put(it, old, line)
	q.mu.Unlock()
	return false, q.store.wait(b)
}

// put lets it take the place of old, which may be nil, in memory now and on the disk
// with the next batch; when that fails old is back.
func (q *Queue) put(it, old *item, line []byte) *batch {
	waited := old != nil && old.at >= 0
	if old != nil {
		q.index.remove(old)
		q.states[old] = true
	}
	q.index.add(it)
	return q.store.join(line, func(offset int64, err error) {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.states, old)
		if err != nil {
			q.undo(it, old, waited)
			return
		}
		q.lines++
		it.span = span{offset, len(line) - 1}
		if it.at == writing {
			q.index.schedule(it)
		}
	})
}

func (q *Queue) undo(it, old *item, waited bool) {
	ours := q.index.ids[it.id] == it
	q.index.remove(it)
	if old == nil || !ours || old.length == 0 {
		return
	}
	old.at = inFlight
	q.index.add(old)
	if waited {
		q.index.schedule(old)
	}
}

// fail counts a failure, age after the first, and reports whether the entry is to be given up.
func (q *Queue) fail(s *state, class Class, why string, now time.Time, age time.Duration) bool {
	s.tries++
	s.class, s.why = class, cut(why, maxWhy)
	s.after = now.Add(delay(s.tries))
	switch class {
	case Hopeless:
		return true
	case Permanent:
		s.permanent++
		return s.permanent >= q.opts.MaxPermanent
	}
	return age >= q.opts.TTL
}

// delay doubles from one second to five minutes, give or take a quarter.
func delay(tries int) time.Duration {
	d := maxDelay
	if tries < 10 {
		d = min(firstDelay<<(tries-1), maxDelay)
	}
	return d*3/4 + rand.N(d/2)
}

func (q *Queue) giveUp(a *post.Announcement, s *state, now time.Time) error {
	m, err := wire(a)
	if err != nil {
		return err
	}
	return q.dead.write(m, s.why, s.tries, now)
}

// Len is the number of entries, those in flight included.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.index.ids)
}

// Pending reports whether an entry of this path is waiting or in flight.
func (q *Queue) Pending(path string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.index.paths[pathHash(path)] != nil
}

// NextDue is when the first waiting entry is due, or the zero time when none waits.
func (q *Queue) NextDue() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.index.ready.Len() > 0 {
		return q.start.Add(q.index.ready.waiting[0].due)
	}
	if len(q.index.wait) == 0 {
		return time.Time{}
	}
	return q.start.Add(q.index.wait[0].due)
}

// Close gives the directory free. Entries in flight are tried again after the next Open.
func (q *Queue) Close() error {
	q.store.write.Lock()
	defer q.store.write.Unlock()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.store.file == nil {
		return nil
	}
	return errors.Join(q.store.close(), q.lock.Close())
}
