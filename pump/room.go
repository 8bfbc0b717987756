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

// A room is the space the destinations have. While it is too little, fetches wait in it; what needs no room goes on, so
// that removals can make some, until as many fetches wait as the flow may have in hand (sr_options(5), min_free).
type room struct {
	least config.FreeSpace
	most  int // fetches that have come to wait when nothing more is taken in
	look  func(dir string) (space, error)

	mu      sync.Mutex
	running map[*ongoing]unix.Fsid // fetches, and the filesystem each is for
	waiting []task
	came    int           // fetches that came to wait since it is shut, also those that are on disk by now
	first   want          // what has to fit before it goes on
	open    chan struct{} // closed when it goes on; nil while it does
}

// A space is what a look at a filesystem found, in bytes. Where total is 0 it said nothing.
type space struct {
	free, total int64
	dev         unix.Fsid
}

// A want is room in a directory for a fetch.
type want struct {
	dir string
	t   *ongoing
}

func newRoom(l config.FreeSpace, most int) *room {
	return &room{least: l, most: most, look: lookAtSpace, running: make(map[*ongoing]unix.Fsid)}
}

// lookAtSpace counts as df(1) does: what only root may use is not there.
func lookAtSpace(dir string) (space, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return space{}, err
	}
	unit := orElse(st.Frsize, st.Bsize)
	return space{free: int64(st.Bavail) * unit, total: int64(st.Blocks-st.Bfree+st.Bavail) * unit, dev: st.Fsid}, nil
}

// roomEvery is how often it is looked whether there is room again.
const roomEvery = time.Second

// missing is how much too little room there is for w, beside what the running fetches have yet to write, and the
// filesystem it is about; more than there can ever be is an error. The lock is held.
func (r *room) missing(w want) (bytes int64, dev unix.Fsid, err error) {
	promised := r.promised(w.t) // before the look: what is written between the two counts twice rather than never
	s, err := r.look(w.dir)
	if err != nil || s.total == 0 {
		return 0, s.dev, nil // the fetch will say what is wrong
	}
	return w.t.wants() + promised[s.dev] + r.least.Of(s.total) - s.free, s.dev, r.fits(w.dir, w.t.file())
}

// fits fails for a file of so many bytes that is larger than the filesystem.
func (r *room) fits(dir string, size int64) error {
	s, err := r.look(dir)
	if err != nil || s.total == 0 {
		return nil
	}
	if most := s.total - r.least.Of(s.total); size > most {
		return fmt.Errorf("%w: %d bytes, and %q has %d", errNeverFits, size, dir, most)
	}
	return nil
}

// promised is what the running fetches have yet to write to each filesystem, beside those of the file that t is of.
// Blocks of one file share what it wants. The lock is held.
func (r *room) promised(t *ongoing) map[unix.Fsid]int64 {
	out, counted := make(map[unix.Fsid]int64), map[string]bool{t.path: true}
	for o, dev := range r.running {
		if !counted[o.path] {
			counted[o.path] = true
			out[dev] += o.owes()
		}
	}
	return out
}

var (
	errNeverFits = errors.New("it is larger than the filesystem, less what min_free leaves")
	errLittle    = errors.New("too little free space")
)

// paused reports whether fetches wait.
func (r *room) paused() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open != nil
}

// pass waits while nothing more is to be taken in.
func (r *room) pass(ctx context.Context) error {
	r.mu.Lock()
	open, few := r.open, r.came < r.most
	r.mu.Unlock()
	if open == nil || few {
		return nil
	}
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enter begins a fetch when there is room for it; else the job is kept until there is. What could never fit is an
// error. Without min_free a file is just tried, for it gives back what it took; not so blocks.
func (r *room) enter(ctx context.Context, j *job, dir string, t *ongoing) (in, first bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := want{dir, t}
	missing, dev, err := r.missing(w)
	if err != nil {
		return false, false, err
	}
	heeds := r.least != (config.FreeSpace{}) || t.rest != nil
	if r.open != nil || heeds && missing > 0 {
		r.waiting = append(r.waiting, task{ctx: ctx, j: j})
		r.came++
		return false, r.shut(w), nil
	}
	r.running[t] = dev
	return true, false, nil
}

// shut has everything wait for room, and reports whether it is the first to. The lock is held.
func (r *room) shut(w want) (first bool) {
	if r.open != nil {
		return false
	}
	r.first, r.open = w, make(chan struct{})
	return true
}

// full is told that a filesystem took no more of a fetch; what there was is given back. Where that makes room enough,
// or nobody knows how much it takes, the others need not wait.
func (r *room) full(dir string, t *ongoing) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := want{dir, t}
	missing, _, err := r.missing(w)
	return err == nil && missing > 0 && r.shut(w)
}

// note begins what needs no room.
func (r *room) note(t *ongoing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[t] = unix.Fsid{}
}

// leave ends a fetch.
func (r *room) leave(t *ongoing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, t)
}

// reopen goes on when there is room for what came first, and returns what waited.
func (r *room) reopen() (waited []task, yes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if missing, _, err := r.missing(r.first); err == nil && missing > 0 {
		return nil, false
	}
	waited = r.waiting
	close(r.open)
	r.waiting, r.came, r.first, r.open = nil, 0, want{}, nil
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
