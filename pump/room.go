package pump

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"srpump/pump/config"
)

// A room is the space the destinations have. While it is too little, fetches wait in it and nothing more is taken in
// (sr_options(5), min_free).
type room struct {
	least config.FreeSpace
	look  func(dir string) (space, error)

	mu      sync.Mutex
	seen    map[string]space    // by directory, at most a second old
	running map[*ongoing]string // fetches, and the directory each is for
	waiting []task
	wants   []want        // what has to fit before it goes on; empty: it goes on
	open    chan struct{} // closed when it goes on; nil while it does
}

// A space is what a look at a filesystem found, in bytes.
type space struct {
	free, total int64
	dev         unix.Fsid
	at          time.Time
}

// A want is so many bytes in a directory.
type want struct {
	dir   string
	bytes int64
}

func newRoom(l config.FreeSpace) *room {
	return &room{least: l, look: lookAtSpace, seen: make(map[string]space), running: make(map[*ongoing]string)}
}

func lookAtSpace(dir string) (space, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return space{}, err
	}
	return space{free: int64(st.Bavail) * st.Bsize, total: int64(st.Blocks) * st.Bsize, dev: st.Fsid, at: time.Now()}, nil
}

// roomEvery is how often a filesystem is looked at.
const roomEvery = time.Second

// space looks, but not oftener than that. The lock is held.
func (r *room) space(dir string) (space, error) {
	s, known := r.seen[dir]
	if known && time.Since(s.at) < roomEvery {
		return s, nil
	}
	s, err := r.look(dir)
	if err == nil {
		r.seen[dir] = s
	}
	return s, err
}

// missing is how much too little room there is for so many bytes more, beside what the running fetches
// have yet to write; more than there can ever be is an error. The lock is held.
func (r *room) missing(w want) (int64, error) {
	s, err := r.space(w.dir)
	if err != nil {
		return 0, nil // the fetch will say what is wrong
	}
	least := r.least.Of(s.total)
	if w.bytes > s.total-least {
		return 0, fmt.Errorf("%w: %d bytes, and %q has %d", errNeverFits, w.bytes, w.dir, s.total-least)
	}
	promised := int64(0)
	for t, dir := range r.running {
		if other, err := r.space(dir); err == nil && other.dev == s.dev {
			promised += max(0, t.size-t.here.Load())
		}
	}
	return w.bytes + promised + least - s.free, nil
}

var (
	errNeverFits = errors.New("it is larger than the filesystem, less what min_free leaves")
	errLittle    = errors.New("too little free space")
)

// paused reports whether nothing more is to be taken in.
func (r *room) paused() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open != nil
}

// pass waits while nothing is to be taken in.
func (r *room) pass(ctx context.Context) error {
	r.mu.Lock()
	open := r.open
	r.mu.Unlock()
	if open == nil {
		return nil
	}
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enter begins a fetch when there is room for it; else the job is kept until there is. What could
// never fit is an error.
func (r *room) enter(ctx context.Context, j *job, dir string, t *ongoing) (in, first bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.least != (config.FreeSpace{}) || r.open != nil {
		w := want{dir, max(0, t.size)}
		missing, err := r.missing(w)
		if missing > 0 { // by a look that is old, and what has ended since
			clear(r.seen)
			missing, err = r.missing(w)
		}
		if err != nil {
			return false, false, err
		}
		if missing > 0 || r.open != nil {
			r.waiting = append(r.waiting, task{ctx: ctx, j: j})
			return false, r.shut(w), nil
		}
	}
	r.running[t] = dir
	return true, false, nil
}

// shut has everything wait for room, and reports whether it is the first to. The lock is held.
func (r *room) shut(w want) (first bool) {
	r.wants = append(r.wants, w)
	if r.open != nil {
		return false
	}
	r.open = make(chan struct{})
	return true
}

// full is told that a filesystem took no more of a file of so many bytes; what there was is given back.
func (r *room) full(dir string, size int64) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, dir)
	s, err := r.space(dir)
	if err != nil {
		return false
	}
	w := want{dir, max(size, s.free+1)}
	if w.bytes > s.total-r.least.Of(s.total) {
		w.bytes = s.free + 1
	}
	return r.shut(w)
}

// leave ends a fetch. What it has brought counts until the next look.
func (r *room) leave(t *ongoing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	mine := r.seen[r.running[t]]
	for dir, s := range r.seen {
		if s.dev == mine.dev {
			s.free -= t.here.Load()
			r.seen[dir] = s
		}
	}
	delete(r.running, t)
}

// reopen goes on when there is room for what came first, and returns what waited.
func (r *room) reopen() (waited []task, yes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.seen)
	if missing, err := r.missing(r.wants[0]); err == nil && missing > 0 {
		return nil, false
	}
	waited = r.waiting
	close(r.open)
	r.waiting, r.wants, r.open = nil, nil, nil
	return waited, true
}

// withdraw takes back a job that waits.
func (r *room) withdraw(j *job) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.waiting, func(t task) bool { return t.j == j })
	if i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
	return i >= 0
}
