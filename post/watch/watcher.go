package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options say what to watch and how. Only Roots must be given.
type Options struct {
	Roots  []string // directories or files; one that is not there yet is waited for
	Dirs   bool     // report directories, too
	Follow bool     // enter symbolic links to directories (a root that is one is always entered)

	// Settle is how long a path must be quiet before it is reported (sr_watch,
	// sleep): 100 ms when 0. One that never is, is reported every
	// max(10 × Settle, 5 s), with Event.Busy set.
	Settle time.Duration

	// MinAge is the least age of a file by its modification time (sr_watch,
	// inflight). It holds also what is busy: a file appended to more often is
	// not reported.
	MinAge time.Duration

	// Rescan is how often all roots are read again, to heal what events did
	// not tell: 30 minutes when 0, never when negative.
	Rescan time.Duration

	Poll         bool          // do not use events at all (sr_watch, force_polling)
	PollInterval time.Duration // between two passes of polling: 1 s when 0

	Skip   func(path string) bool // paths neither watched nor reported; called from several goroutines
	Logger *slog.Logger           // slog.Default when nil
}

// An Emit takes settled paths. For one path, the order of events is the order
// of what happened. It may block as long as it likes.
type Emit func(ctx context.Context, events []Event) error

// A method is a way to notice changes below the roots. It tells the pending set.
type method interface {
	// begin returns when what happens from now on will be noticed.
	begin(ctx context.Context) error
	// follow notices until ctx ends, and then returns its cause.
	follow(ctx context.Context) error
	close() error
}

// A Watcher reports what happens below its roots, from Ready on. It runs once.
type Watcher struct {
	o       Options
	log     *slog.Logger
	pending *pending
	recent  *recent // used by the reporting goroutine only
	known   *known
	peers   peers // used by the reporting goroutine only
	count   counters
	methods []method
	ready   chan struct{}
}

// Stats count what a Watcher did and holds.
type Stats struct {
	Watched    int64 // directories watched by events
	Polled     int64 // subtrees polled, with all below them
	Pending    int64 // paths noticed and not yet reported
	Reported   int64 // events handed over
	Overflows  int64 // times the kernel, or we, dropped events
	Rewalks    int64 // times all roots were read again, for that or to heal
	Unreadable int64 // directories that could not be watched or read
	Errors     int64 // everything else that failed
}

type counters struct {
	watched, polled, reported, overflows, rewalks, unreadable, errors atomic.Int64
}

// New prepares a watcher; nothing is opened or watched before Run.
func New(o Options) (*Watcher, error) {
	if len(o.Roots) == 0 {
		return nil, errors.New("cannot watch: no path is given")
	}
	roots := make([]string, 0, len(o.Roots))
	for _, root := range o.Roots {
		if root == "" || strings.ContainsRune(root, 0) {
			return nil, fmt.Errorf("cannot watch %q: not a path", root)
		}
		roots = append(roots, filepath.Clean(root))
	}
	o.Roots = roots
	o.Settle = defaulted(o.Settle, 100*time.Millisecond)
	o.Rescan = defaulted(o.Rescan, 30*time.Minute)
	o.PollInterval = defaulted(o.PollInterval, time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Watcher{
		o: o, log: o.Logger,
		pending: newPending(max(10*o.Settle, 5*time.Second)),
		recent:  newRecent(),
		known:   newKnown(),
		ready:   make(chan struct{}),
	}, nil
}

func defaulted(d, preset time.Duration) time.Duration {
	if d == 0 {
		return preset
	}
	return d
}

// choose picks the methods. The poller is always there: it takes over what the
// kernel refuses to watch. Where the kernel has no event queue left to give,
// everything is polled and a warning says so.
func (w *Watcher) choose() {
	p := newPoller(w)
	w.methods = []method{p}
	if !w.o.Poll {
		n, err := newNotifier(w, p)
		if err == nil {
			w.methods = []method{n, p}
			return
		}
		w.log.Warn("watch polls", "error", err,
			"hint", "raise fs.inotify.max_user_instances with sysctl")
	}
	for _, root := range w.o.Roots {
		p.adopt(root, false)
	}
}

// Ready is closed when all watches are set: whatever happens from then on is
// reported. What is there already is not; Walk, called after Ready, finds it
// with no gap between.
func (w *Watcher) Ready() <-chan struct{} { return w.ready }

// Run watches until ctx ends or emit fails, and returns that cause.
func (w *Watcher) Run(ctx context.Context, emit Emit) error {
	if w.methods == nil {
		w.choose()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	all.Go(func() { stop(w.report(ctx, emit)) })
	err := w.begin(ctx)
	if err == nil {
		close(w.ready)
		for _, m := range w.methods {
			all.Go(func() { stop(m.follow(ctx)) })
		}
	} else {
		stop(err)
	}
	<-ctx.Done()
	for _, m := range w.methods {
		if err := m.close(); err != nil {
			w.log.Warn("watch cannot close", "error", err)
		}
	}
	all.Wait()
	return context.Cause(ctx)
}

func (w *Watcher) begin(ctx context.Context) error {
	for _, m := range w.methods {
		if err := m.begin(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Pending returns the paths noticed and not yet handed over. After Run it is
// what a clean stop left, for the caller to remember: not what is as it was reported.
func (w *Watcher) Pending() (all []string) {
	for path, m := range w.pending.paths() {
		info, err := look(path, w.o.Follow)
		if err == nil && m&renamed == 0 && !info.IsDir() && w.recent.told(path, info, m) {
			continue
		}
		all = append(all, path)
		if absent(err) {
			for _, m := range w.known.below(path) {
				all = append(all, m.path)
			}
		}
	}
	return all
}

// Stats returns the counters as they are now.
func (w *Watcher) Stats() Stats {
	c := &w.count
	return Stats{
		Watched: c.watched.Load(), Polled: c.polled.Load(), Pending: int64(w.pending.len()),
		Reported: c.reported.Load(), Overflows: c.overflows.Load(), Rewalks: c.rewalks.Load(),
		Unreadable: c.unreadable.Load(), Errors: c.errors.Load(),
	}
}
