package pump

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"srpump/post"
	"srpump/pump/config"
	"srpump/pump/fetch"
	"srpump/pump/hook"
)

// A stage is the filter of a flow: what was received goes to it, and what it makes is announced in the place of
// the copy (sr_hooks(7), STAGES).
type stage struct {
	f      *Flow
	filter *hook.Stage
	keep   bool // the copy is announced as well
	sum    string
	maker  post.Maker
	dir    string      // outputs are below it; empty when there are none
	tree   *fetch.Tree // the same, opened
	paths  *order      // of outputs
	room   chan struct{}
	ctx    context.Context // ends a while after the flow does
	end    context.CancelFunc

	holding atomic.Bool // see relieve

	mu      sync.Mutex
	closed  bool
	reading sync.WaitGroup // outputs not handed to the Installer
}

// outputsAtOnce is how many outputs are on their way to being announced at once.
const outputsAtOnce = 256

// checkStage is what is wrong with the options of a stage.
func checkStage(c *config.Config, h *Host) error {
	v := c.Values
	if v.String("stage") == "" {
		return nil
	}
	if v.Bool("discard") && !v.Bool("notify_only") {
		return errors.New("discard leaves nothing for a filter to read")
	}
	if err := checkSum(v.String("sum")); err != nil {
		return about("sum", err)
	}
	if _, err := hook.NewProgram(v.String("stage"), h.Cwd); err != nil {
		return fmt.Errorf("cannot run %.80q: %w", config.RedactCommand(v.String("stage")), err)
	}
	return nil
}

// openStage makes the stage, where there is one. The filter starts with the first file for it.
func (f *Flow) openStage() error {
	v := f.cfg.Values
	if v.String("stage") == "" || !f.plan.works() {
		return nil
	}
	program, err := hook.NewProgram(v.String("stage"), f.host.Cwd)
	if err != nil {
		return fmt.Errorf("cannot run %q: %w", config.RedactCommand(v.String("stage")), err)
	}
	program.Name, program.Log = "stage", f.host.Log
	s := &stage{f: f, keep: v.Bool("stage_keep"), sum: v.String("sum"), dir: f.plan.postDir, paths: newOrder(), room: make(chan struct{}, outputsAtOnce),
		maker: post.Maker{BaseURL: f.plan.baseURL, BaseDir: f.plan.postDir, Prefix: f.plan.prefix, DirsOnly: !v.Bool("post_topic_filename"),
			KeepMode: v.Bool("preserve_mode"), KeepTime: v.Bool("preserve_time")}}
	if s.dir != "" {
		if s.tree, err = f.tree(s.dir); err != nil {
			return err
		}
	}
	if f.install == nil {
		f.install = fetch.NewInstaller(fetch.InstallerOptions{Sync: f.plan.sync})
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.filter = hook.NewStage(hook.StageOptions{Program: program, Instances: v.Int("stage_instances"), Timeout: v.Duration("stage_timeout"), Idle: v.Duration("stage_idle"),
		Attempts: v.Int("stage_attempts"), Ending: endingOf(v), Output: s.output, Hungry: s.relieve})
	f.stage = s
	f.filters.Store(s.filter)
	return nil
}

// endingOf is how long a filter may be silent whose input has ended; 0 is for ever.
func endingOf(v config.Values) time.Duration {
	if v.Duration("hook_timeout") == 0 {
		return 0
	}
	return max(v.Duration("hook_timeout"), v.Duration("stage_timeout"))
}

// close ends the filter, and hands what it made to the Installer. What then is not confirmed in time comes again.
func (s *stage) close() {
	time.AfterFunc(stopTime, s.end)
	s.filter.Close()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.reading.Wait()
}

// begin reports whether an output may still be handed over; then reading counts it.
func (s *stage) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.reading.Add(1)
	}
	return !s.closed
}

// takes reports whether a job is for the filter.
func (s *stage) takes(j *job) bool { return s != nil && isFile(j.a) }

// isFile reports whether an announcement is about a file; of what is announced, a filter is given nothing else.
func isFile(a *post.Announcement) bool {
	return !a.Sum.IsRemoval() && !a.Sum.IsLink() && a.Sum.Method != post.SumMkdir
}

// give has the filter work on the file of a job, the steps before being done.
func (s *stage) give(ctx context.Context, j *job, file string) {
	a := j.a
	in := &hook.StageInput{Path: file, URL: j.url(), Topic: a.Topic, RelPath: a.Path, Sum: j.sum.String(), Size: -1, Headers: a.Headers, Again: j.again}
	if j.block.Length() > 0 || j.block.Count > 0 {
		in.Size = j.block.Length()
	}
	in.Done = func(v hook.Verdict) { s.answered(ctx, j, v) }
	j.mu.Lock()
	over := j.over
	j.input = in
	j.mu.Unlock()
	if over {
		return
	}
	s.f.Counters.Staged.Add(1)
	s.filter.Give(in)
	s.relieve()
}

var (
	errStageFault = errors.New("the stage can make nothing of it")
	errStageRetry = errors.New("the stage wants it later")
	errStageMade  = errors.New("what the stage made cannot be announced")
)

// answered ends a job the filter has answered for; all outputs are confirmed by now (step 3 of the order of
// durability). This may be a confirm, which neither waits for a disk nor for room for another: what does is left to
// the crew, whose writes share their syncs.
func (s *stage) answered(ctx context.Context, j *job, v hook.Verdict) {
	f := s.f
	switch {
	case v.Err != nil:
		f.crew.start(func() { f.failed(ctx, j, fmt.Errorf("%w: %w", errStageMade, v.Err)) })
	case v.Answer == hook.StageRetry:
		f.crew.start(func() { f.failed(ctx, j, fmt.Errorf("%w: %s", errStageRetry, v.Why)) })
	case v.Answer == hook.StageFault:
		f.crew.start(func() { f.giveUp(j, fmt.Errorf("%w: %s", errStageFault, v.Why)) })
	case v.Answer == hook.StageDrop:
		f.Counters.Dropped.Add(1)
		f.host.Log.Info("dropped by the stage", "path", s.named(j), "why", v.Why)
		f.end(j, done)
	case s.keep && f.announce != nil:
		f.crew.start(func() { f.send(ctx, j, s.kept(j)) })
	default:
		f.report(j, codeDone, "Published")
		f.finished(j)
	}
}

// kept is the announcement of what a filter was given.
func (s *stage) kept(j *job) *post.Announcement {
	if s.f.plan.files {
		return s.f.copied(j)
	}
	return s.f.passedOn(j.a)
}

// named is what a job is called in logs.
func (s *stage) named(j *job) string {
	if j.at != (Place{}) {
		return j.at.Full()
	}
	return j.a.Path
}

// without is a job of a flow that fetches nothing: the file is read where it is, when it is on this host.
func (f *Flow) without(ctx context.Context, j *job) {
	if !f.stage.takes(j) {
		f.forward(ctx, j)
		return
	}
	j.sum, j.block = j.a.Sum, j.a.Block
	f.stage.give(ctx, j, j.from.Local)
}

// standing finds out where the file of a job is, in a flow that fetches nothing.
func (f *Flow) standing(j *job) (err error) {
	if j.from, err = j.a.Retrieval(f.plan.baseMode); err != nil {
		return err
	}
	if j.from.Local != "" {
		j.source, j.at = "localhost", Place{Root: "/", Path: strings.TrimPrefix(path.Clean(j.from.Local), "/")}
		if err := f.mayReadLocal(); err != nil {
			return err
		}
		return f.below(j.from.Local)
	}
	u, err := url.Parse(j.from.URL)
	if err != nil {
		return fmt.Errorf("%w: %w", post.ErrMalformed, err)
	}
	j.source = u.Host
	return nil
}

// below refuses a file that is not below base_dir, where that is set.
func (f *Flow) below(file string) error {
	base := f.cfg.Values.String("base_dir")
	if base == "" {
		return nil
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	if real, err := filepath.EvalSymlinks(base); err == nil {
		base = real
	}
	if rel, err := filepath.Rel(base, file); err != nil || !filepath.IsLocal(rel) {
		return errBelow
	}
	return nil
}

var errBelow = errors.New("a file of this host that is not below base_dir")

// touches are the absolute paths a job has to itself. A file that is not here is as if below its host.
func (f *Flow) touches(j *job) []string {
	if j.at == (Place{}) {
		u, _ := url.Parse(j.from.URL)
		return []string{path.Join("/", u.Host, u.Path)}
	}
	paths := []string{j.at.Full()}
	for _, p := range []Place{j.second, j.other} {
		if p != (Place{}) && p != j.at {
			paths = append(paths, p.Full())
		}
	}
	return paths
}
