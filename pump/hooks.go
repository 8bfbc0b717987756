package pump

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"srpump/post"
	"srpump/pump/config"
	"srpump/pump/hook"
)

// newHooks makes the hooks of a configuration; none of them is started.
func newHooks(c *config.Config, h *Host) (*hook.Set, error) {
	set, err := hook.New(c, hook.Builtins(), hook.Env{State: c.State().Dir(), Dir: h.Cwd, Log: h.Log, Now: h.Now})
	var errs []error
	for _, e := range apart(err) {
		var line *hook.LineError
		if errors.As(e, &line) {
			e = &OptionError{line.Option, line.Err, line.Origin}
		}
		errs = append(errs, e)
	}
	return set, errors.Join(errs...)
}

// errUnwilling is a start that a hook refused.
var errUnwilling = errors.New("a hook of on_start answered false")

// startHooks asks the hooks of on_start; those that refuse are ended.
func startHooks(ctx context.Context, set *hook.Set) error {
	ok, err := set.At(hook.OnStart).Run(ctx, &hook.Event{})
	if err == nil && !ok {
		err = errUnwilling
	}
	if err != nil {
		return errors.Join(err, set.Close())
	}
	return nil
}

// stopHooks tells the hooks of on_stop, and ends all.
func stopHooks(ctx context.Context, set *hook.Set, h *Host) {
	_, err := set.At(hook.OnStop).Run(ctx, &hook.Event{})
	if errors.Is(err, hook.ErrClosed) {
		err = nil
	}
	if err = errors.Join(err, set.Close()); err != nil {
		h.Log.Warn("hook failed", "error", err)
	}
}

// beat tells the hooks of a point whose answer does not matter.
func beat(ctx context.Context, set *hook.Set, point string, h *Host) {
	if _, err := set.At(point).Run(ctx, &hook.Event{}); err != nil && ctx.Err() == nil {
		h.Log.Warn("hook failed", "option", point, "error", err)
	}
}

// A crew is what runs hooks beside the workers, so that neither what comes in nor an installation
// waits for one. It holds no more than there are jobs, and outputs of a stage under way.
type crew struct {
	mu   sync.Mutex
	idle *sync.Cond
	n    int
}

func newCrew() *crew {
	c := &crew{}
	c.idle = sync.NewCond(&c.mu)
	return c
}

func (c *crew) start(work func()) {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	go func() {
		work()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.n--; c.n == 0 {
			c.idle.Broadcast()
		}
	}()
}

// wait waits until nobody works.
func (c *crew) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.n > 0 {
		c.idle.Wait()
	}
}

// screens reports whether a hook sees what comes in before the cache does, or would hold up taking in
// when it sees what goes out.
func (f *Flow) screens() bool {
	return !f.hooks.At(hook.OnMessage).Empty() || f.plan.files && !f.hooks.At(hook.DestFn).Empty() ||
		!f.plan.files && !f.hooks.At(hook.OnPost).Empty()
}

// screen shows a job to the hooks of on_message, and goes on with what they leave of it. What is of
// one path goes on in its order.
func (f *Flow) screen(ctx context.Context, j *job) {
	if !f.screens() {
		f.winnow(ctx, j)
		return
	}
	path := "/" + j.a.Path
	if f.plan.files {
		path = j.at.Full()
	}
	t := &turn{}
	t.run = func() {
		f.crew.start(func() {
			f.screenInTurn(ctx, j)
			f.screening.leave(t)
		})
	}
	f.screening.enter(t, path)
}

func (f *Flow) screenInTurn(ctx context.Context, j *job) {
	e := &hook.Event{Announcement: j.a.Clone()}
	if f.plan.files {
		e.Root, e.Dir, e.File = j.at.split()
	}
	shown := *e
	ok, err := f.hooks.At(hook.OnMessage).Run(f.grace, e)
	if err == nil && ok && f.plan.files {
		_, err = f.hooks.At(hook.DestFn).Run(f.grace, e)
	}
	switch {
	case err != nil:
		f.failed(ctx, j, err)
	case !ok:
		f.dropped(j, hook.OnMessage)
	default:
		if err := f.follow(j, e, &shown); err != nil {
			f.giveUp(j, err)
			return
		}
		j.screened = true
		f.winnow(ctx, j)
	}
}

// follow makes j what a hook made of it. Where the announcement leads elsewhere its place is found
// anew, unless the hook chose one.
func (f *Flow) follow(j *job, e, shown *hook.Event) error {
	j.a = e.Announcement
	if !f.plan.files && f.stage == nil {
		return nil
	}
	if err := f.locate(j); err != nil || !f.plan.files {
		return err
	}
	if e.Root == shown.Root && e.Dir == shown.Dir && e.File == shown.File {
		return nil
	}
	within, err := post.Within(relativeTo(e.Root, e.Dir+"/"+e.File))
	if err != nil {
		return err
	}
	j.at, j.second, j.other = Place{Root: e.Root, Path: within}, Place{}, Place{}
	return nil
}

// dropped ends a job a hook wants nothing of.
func (f *Flow) dropped(j *job, point string) {
	f.Counters.Rejected.Add(1)
	f.host.Log.Info("dropped by a hook", "option", point, "path", j.a.Path)
	f.end(j, done)
}

// onward goes on with what is in place: the hooks see it where show says so, then it is announced. It
// does not wait: whoever installs must not.
func (f *Flow) onward(ctx context.Context, j *job, show bool) {
	shown := show && f.showsFiles()
	if !shown && f.hooks.At(hook.OnPost).Empty() {
		f.repost(ctx, j)
		return
	}
	f.crew.start(func() {
		if !shown || f.onFile(ctx, j, j.shownAt().Full()) {
			f.repost(ctx, j)
		}
	})
}

func (f *Flow) showsFiles() bool {
	return !f.hooks.At(hook.OnPart).Empty() || !f.hooks.At(hook.OnFile).Empty()
}

// onFile shows a complete file to the hooks, and reports whether to go on.
func (f *Flow) onFile(ctx context.Context, j *job, path string) bool {
	e := &hook.Event{Announcement: j.a.Clone(), Local: path}
	e.Announcement.Sum, e.Announcement.Block = j.sum, j.block
	e.Root, e.Dir, e.File = j.at.split()
	for _, point := range []string{hook.OnPart, hook.OnFile} {
		ok, err := f.hooks.At(point).Run(f.grace, e)
		if err != nil {
			f.failed(ctx, j, err)
			return false
		}
		if !ok {
			f.dropped(j, point)
			return false
		}
	}
	e.Announcement.Sum, e.Announcement.Block = j.a.Sum, j.a.Block
	j.a = e.Announcement
	return true
}

// onPost shows the hooks what is about to be announced, and reports whether to go on.
func (f *Flow) onPost(ctx context.Context, j *job, a *post.Announcement) bool {
	chain := f.hooks.At(hook.OnPost)
	if chain.Empty() {
		return true
	}
	e := &hook.Event{Announcement: a.Clone()}
	if f.plan.there != nil {
		e.Local = j.from.Local
	} else if f.plan.files && !a.Sum.IsRemoval() {
		e.Local = j.shownAt().Full()
		e.Root, e.Dir, e.File = j.at.split()
	}
	ok, err := chain.Run(f.grace, e)
	switch {
	case err != nil:
		f.failed(ctx, j, err)
	case !ok:
		f.dropped(j, hook.OnPost)
	default:
		*a = *e.Announcement
	}
	return err == nil && ok
}

// shownAt is where the file is: a removal may have given it another name.
func (j *job) shownAt() Place {
	if j.a.Sum.IsRemoval() {
		return j.other
	}
	return j.at
}

// hasFile reports whether there is a file to show: links and directories are none.
func (j *job) hasFile() bool {
	return !j.a.Sum.IsLink() && j.a.Sum.Method != post.SumMkdir && j.shownAt() != (Place{})
}

// errUndone is a hook that was to do something and answered false.
var errUndone = errors.New("the hook answered false")

func undone(what string, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("cannot %s: %w", what, errUndone)
}
