package pump

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
	"srpump/pump/fetch"
	"srpump/pump/hook"
	"srpump/pump/keep"
	"srpump/pump/retry"
	"srpump/pump/send"
	"srpump/pump/transfer"
	"srpump/winnow"
)

// A Flow takes announcements in and does with each what its preset says:
// passes it on once (sr_winnow), fetches the file (sr_subscribe), or fetches it
// and announces the copy (sr_sarra).
type Flow struct {
	tellsReceived bool // the hook msg_log is asked for

	Counters Counters

	cfg    *config.Config
	host   *Host
	plan   plan
	inline inliner
	state  string // directory of the state of this run
	rules  *Rules
	place  Placement
	events eventSet

	in, out    broker.Conn
	consumer   broker.Consumer
	standby    *standby   // the consumer, with the option vip
	lookout    lookout    // of it
	settled    bool       // the queues were made by this run
	announce   *announcer // nil when nothing is posted
	reports    *reporter  // nil when nobody is told what became of an announcement
	cache      *winnow.Cache
	retries    *retry.Queue
	keeper     *keep.Keeper // nil when nothing is retired
	order      *order
	hooks      *hook.Set
	grace      context.Context // of hooks: they are given a while at a stop
	release    func()          // of grace
	crew       *crew
	screening  *order // of what hooks see before it is winnowed
	pool       *pool
	saver      *saver // nil when announcements are not just saved
	stage      *stage // nil without a filter
	trees      trees
	assemblies assemblies // of files that come in blocks
	sources    transfer.Set
	pace       *fetch.Pace // of all transfers together
	room       *room
	oversize   atomic.Pointer[string] // the version of a file that was last said to be oversized
	partials   *fetch.Partials        // from which interrupted ones go on
	names      *fetch.Names           // of temporary files; nil when no state is kept
	sender     *send.Sender           // nil where files are not delivered to another host
	install    *fetch.Installer
	finish     *finisher
	suspects   int // deliveries that a run killed before this one may have done already

	opened  atomic.Pointer[retry.Queue] // retries, for who asks from outside
	filters atomic.Pointer[hook.Stage]  // of the stage, the same

	slots   chan struct{} // one for each announcement on its way
	jobs    jobSet
	hints   hints
	nothing nothing
	joined  sync.Map // srcpaths found to be prefixes
	fatal   error
	life    context.Context // of this run
	abort   context.CancelFunc
	pauses  sync.WaitGroup              // what is done later; see later
	leave   func(context.Context) error // ends a detour
}

// A plan is the configuration of a flow, read and checked.
type plan struct {
	from, to  endpoint
	posting   bool
	route     route    // of what is posted
	baseURL   string   // of what is posted
	postDir   string   // what baseURL stands for
	root      string   // of a sr_sender: what it delivers below
	there     *url.URL // of a sr_sender: its destination, when hooks deliver; else nil
	prefix    string   // of topics posted
	files     bool     // fetch files; else move announcements only
	workers   int
	prefetch  int    // of all queues together
	vip       string // address without which nothing is consumed
	baseMode  post.BaseMode
	inflight  fetch.Inflight
	sync      fetch.Sync
	least     config.FreeSpace
	largest   int64 // bytes a file may have; 0: any number
	headers   map[string]string
	drop      map[string]bool // headers taken off
	simulate  bool            // say what would be delivered, and do nothing
	ephemeral bool            // a pipe without configuration: nothing is kept
	saving    bool            // write announcements to a file, and no more
	restoring bool            // begin with those of such a file
	detour    string          // queue they are for, and nothing else is done
}

// NewFlow reads what a flow needs from its configuration. Nothing is opened before Run.
func NewFlow(c *config.Config, h *Host) (*Flow, error) {
	f := &Flow{cfg: c, host: h, state: c.State().Dir(), events: newEvents(c), order: newOrder(), crew: newCrew(), screening: newOrder(), lookout: lookout{HoldsAddress, lookEvery},
		place: Placement{Cwd: h.Cwd, BaseDir: c.Values.String("base_dir"), PostDir: c.Values.String("post_base_dir"), Now: h.Now}}
	var errs [3]error // all that is wrong is said at once
	f.plan, errs[0] = newPlan(c, h)
	f.inline = inliner{max: -1}
	if f.plan.posting {
		f.inline = newInliner(c, f.plan.prefix, h.Log)
	}
	f.rules, errs[1] = NewRules(c.Rules, c.Final, c.AcceptsUnmatched())
	f.hooks, errs[2] = newHooks(c, h)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	f.place.Root = f.plan.root
	f.tellsReceived = slices.ContainsFunc(c.Values.List(hook.OnMessage), func(line string) bool { return config.HookName(line) == "msg_log" })
	f.room = newRoom(f.plan.least, f.plan.prefetch)
	return f, nil
}

// Ephemeral reports whether the flow keeps no state: it reads a pipe and has no configuration.
func (f *Flow) Ephemeral() bool { return f.plan.ephemeral }

// DeadLetters is the file of announcements that were given up.
func (f *Flow) DeadLetters() string { return filepath.Join(f.state, "dead_letter.jsonl") }

// Run works until ctx ends, or until the pipe it reads has ended and everything is done.
// When it returns, nothing taken in was lost: what is not done is unacknowledged
// or in the retry queue. Only of a pipe without configuration, which has neither, the rest is
// dropped, and that is an error.
func (f *Flow) Run(ctx context.Context) error {
	ctx, f.abort = context.WithCancel(ctx)
	f.life = ctx
	defer f.abort()
	f.grace, f.release = lingering(ctx, stopTime)
	if err := f.start(ctx); err != nil {
		f.stop()
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}
	f.host.ready()
	var helpers sync.WaitGroup
	side, stopSide := context.WithCancel(ctx)
	if f.plan.works() {
		helpers.Go(func() { f.retryLoop(side) })
		helpers.Go(func() { f.spillLoop(side) })
	}
	helpers.Go(func() { f.heartbeat(side) })
	helpers.Go(func() { f.retireLoop(side) })
	helpers.Go(func() { f.sweepLoop(side) })
	err := f.gather(ctx)
	if err == nil {
		f.drain(ctx)
	}
	stopSide()
	helpers.Wait()
	f.stop()
	if f.fatal != nil {
		return f.fatal
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// fail ends the flow with an error no retry can mend.
func (f *Flow) fail(err error) {
	f.jobs.mu.Lock()
	if f.fatal == nil {
		f.fatal = err
	}
	f.jobs.mu.Unlock()
	f.abort()
}

// stopTime is how long a stop waits for what is on its way; the rest is taken
// in again at the next start.
const stopTime = 2 * time.Second

// stop lets what has begun end, in the order of the flow.
func (f *Flow) stop() {
	f.abort()
	if f.pool != nil {
		f.pool.close()
	}
	f.crew.wait()
	if f.stage != nil {
		f.stage.close()
		f.crew.wait()
		defer f.stage.end()
	}
	if f.plan.from.isPipe() && f.retries != nil {
		f.keepRead()
	}
	if f.install != nil {
		f.install.Close()
		f.crew.wait()
		_ = f.names.Close() // which nobody relies on
	}
	if f.saver != nil {
		if err := f.saver.close(); err != nil {
			f.host.Log.Warn("stopped with errors", "error", err)
		}
	}
	short, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	if f.announce != nil {
		if err := f.announce.close(short); err != nil {
			f.host.Log.Warn("announcements unconfirmed, they come again", "error", err)
		}
		f.crew.wait() // what the last confirms led to
	}
	if f.leave != nil {
		if err := f.leave(short); err != nil {
			f.host.Log.Warn("stopped with errors", "error", err)
		}
	}
	f.pauses.Wait()
	if f.finish != nil {
		f.finish.close()
	}
	if f.reports != nil {
		f.reports.close(short)
	}
	stopHooks(short, f.hooks, f.host)
	f.release()
	f.close()
}

// close releases what start opened, as far as it came.
func (f *Flow) close() {
	var errs []error
	if f.cache != nil {
		errs = append(errs, f.cache.Close())
	}
	if f.retries != nil {
		errs = append(errs, f.retries.Close())
	}
	if f.keeper != nil {
		errs = append(errs, f.keeper.Close())
	}
	if f.consumer != nil {
		errs = append(errs, f.consumer.Close())
	}
	for _, c := range []broker.Conn{f.in, f.out} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	if f.sources != nil {
		errs = append(errs, f.sources.Close())
	}
	if f.plan.ephemeral && f.retries != nil {
		f.expireBlocks(f.host.Now().Add(pipePatience))
	}
	f.assemblies.close()
	errs = append(errs, f.trees.close())
	if f.plan.simulate && f.state != "" {
		errs = append(errs, os.RemoveAll(f.state))
	} else if f.plan.ephemeral && f.Counters.GivenUp.Load()+f.Counters.Malformed.Load() == 0 && f.state != "" {
		errs = append(errs, os.RemoveAll(f.state))
	} else if f.fatal == nil && f.finish != nil {
		errs = append(errs, f.unmark())
	}
	if err := errors.Join(errs...); err != nil {
		f.host.Log.Warn("stopped with errors", "error", err)
	}
}

// trees are the destination directories, opened when first needed.
type trees struct {
	mu   sync.Mutex
	open map[string]*fetch.Tree
}

func (t *trees) get(root string, o fetch.TreeOptions) (*fetch.Tree, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tree, ok := t.open[root]; ok {
		return tree, nil
	}
	tree, err := fetch.OpenTree(root, o)
	if err != nil {
		return nil, fmt.Errorf("cannot open directory %q: %w", root, err)
	}
	if t.open == nil {
		t.open = make(map[string]*fetch.Tree)
	}
	t.open[root] = tree
	return tree, nil
}

func (t *trees) close() error {
	var errs []error
	for _, tree := range t.open {
		errs = append(errs, tree.Close())
	}
	return errors.Join(errs...)
}
