package pump

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/blocks"
	"srpump/pump/broker"
	"srpump/pump/fetch"
	"srpump/pump/hook"
)

// assemble finishes a file all of whose blocks are here: it is installed, then each block is announced, then
// its journal is closed, and only then is j done, which keeps it all until then. Before the file has its
// name its blocks are not announced: nobody could fetch them.
func (f *Flow) assemble(ctx context.Context, j *job, a *assembly, tree *fetch.Tree) {
	if !a.begins() {
		f.end(j, done) // who has begun ends it
		return
	}
	j.partial = false
	size := j.a.Block.FileSize()
	here, fetched := a.log().Counts()
	again := func(err error) {
		a.failed()
		f.failed(ctx, j, err)
	}
	f.assemblies.enter(a.full) // until it ends
	if tree == nil {
		f.sendAssembled(ctx, j, a)
		return
	}
	want := f.fetchJob(j, tree)
	switch {
	case a.installed:
		f.assembled(ctx, j, a)
	case a.old.Is(want, here, size):
		f.install.Adjust(want, func(err error) {
			if err != nil {
				again(err)
				f.assemblies.leave(a)
				return
			}
			f.crew.start(func() { f.allKept(ctx, j, a) })
		})
	default:
		s, err := a.take().Complete(want, size)
		if err != nil {
			again(err)
			f.assemblies.leave(a)
			return
		}
		f.install.Install(s, func(err error) {
			if err != nil {
				again(err)
				f.assemblies.leave(a)
				return
			}
			a.setInstalled()
			f.host.Log.Info("assembled", "path", a.full, "bytes", size, "blocks", here, "kept", here-fetched)
			f.Counters.Fetched.Add(1)
			f.crew.start(func() { f.assembled(ctx, j, a) })
		})
	}
}

// allKept ends a file that is just as it was. Like any other it is not announced then.
func (f *Flow) allKept(ctx context.Context, j *job, a *assembly) {
	a.take().Discard()
	f.order.note(a.full, a.log().File().Version.Posted)
	f.Counters.Unchanged.Add(1)
	f.host.Log.Info("unchanged", "path", a.full, "sum", j.a.Sum)
	f.closeAssembly(ctx, j, a)
}

// assembled goes on with a file that is in place.
func (f *Flow) assembled(ctx context.Context, j *job, a *assembly) {
	f.order.note(a.full, a.log().File().Version.Posted)
	j.wrote, j.block = true, partition.WholeFile(j.a.Block.FileSize())
	f.noteKept(j)
	j.sum, j.block = j.a.Sum, j.a.Block
	ok, err := f.showWhole(j)
	if err != nil {
		a.failed()
		f.failed(ctx, j, err)
		f.assemblies.leave(a)
		return
	}
	if f.announce == nil || !ok {
		f.closeAssembly(ctx, j, a)
		return
	}
	t := &tally{left: 1, over: func(err error) { f.crew.start(func() { f.announcedAll(ctx, j, a, err) }) }}
	t.end(a.log().Each(func(r blocks.Record) error { return f.announceBlock(ctx, j, t, r) }))
}

// showWhole shows the hooks a file that is in place, and reports whether it is to be announced.
func (f *Flow) showWhole(j *job) (bool, error) {
	chain := f.hooks.At(hook.OnFile)
	if chain.Empty() || f.plan.there != nil {
		return true, nil
	}
	e := &hook.Event{Announcement: j.a.Clone(), Local: j.at.Full()}
	e.Root, e.Dir, e.File = j.at.split()
	ok, err := chain.Run(f.grace, e)
	if err == nil && !ok {
		f.host.Log.Info("dropped by a hook", "option", hook.OnFile, "path", j.a.Path)
	}
	return ok, err
}

// announceBlock announces one block of the copy.
func (f *Flow) announceBlock(ctx context.Context, j *job, t *tally, r blocks.Record) error {
	if r.Silent {
		return nil
	}
	of := f.copied(&job{a: r.Made, came: r.Came, at: j.at, sum: r.Sum, block: f.announcedBlock(r.Came, 0)})
	f.dress(of)
	ok, err := f.showPost(j, of)
	if err != nil || !ok {
		return err
	}
	t.begin()
	err = f.announce.send(ctx, of, func(err error) {
		if err == nil {
			f.report(&job{a: r.Came, began: j.began}, codeDone, "Published")
		}
		t.end(err)
	})
	if err != nil {
		t.end(nil)
	}
	return err
}

// announcedAll follows the confirms of all blocks.
func (f *Flow) announcedAll(ctx context.Context, j *job, a *assembly, err error) {
	switch {
	case err == nil:
		f.closeAssembly(ctx, j, a)
		return
	case errors.Is(err, broker.ErrClosed), ctx.Err() != nil: // it comes again
	case errors.Is(err, broker.ErrMessage), errors.Is(err, broker.ErrPrecondition):
		a.failed() // a later block, or this one given again, announces them
		f.giveUp(j, err)
	default:
		a.failed()
		f.failed(ctx, j, err)
	}
	f.assemblies.leave(a)
}

// closeAssembly is the end of a file.
func (f *Flow) closeAssembly(ctx context.Context, j *job, a *assembly) {
	defer f.assemblies.leave(a)
	f.spends(j, a)
	if err := f.assemblies.finish(a); err != nil {
		a.failed()
		f.failed(ctx, j, err)
		return
	}
	f.finished(j)
}

// A tally waits for many to end.
type tally struct {
	mu   sync.Mutex
	left int
	err  error // the first of them
	over func(error)
}

func (t *tally) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left++
}

func (t *tally) end(err error) {
	t.mu.Lock()
	if t.err == nil {
		t.err = err
	}
	t.left--
	last := t.left == 0
	t.mu.Unlock()
	if last {
		t.over(t.err)
	}
}

// received notes what a path has got in one piece, or that it is gone: what was on its way there in blocks
// and is not newer is void.
func (f *Flow) received(j *job) {
	full, posted := j.at.Full(), f.believed(j.a.Time)
	f.order.note(full, posted)
	if !f.assemblies.store.Knows(full) {
		return
	}
	a := f.assemblies.enter(full)
	defer f.assemblies.leave(a)
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	if a.journal == nil {
		if a.journal, err = f.assemblies.store.Open(full); err != nil && !notThere(err) {
			f.host.Log.Error("not read, its blocks may come again", "path", full, "error", err)
			return
		}
	}
	if a.journal != nil && a.journal.File().Version.Posted.After(posted) {
		return
	}
	f.abandon(a)
}

// abandon removes what there is of a file in blocks. The lock is held, and nobody is at it.
func (f *Flow) abandon(a *assembly) {
	if a.journal != nil && a.journal.File().Temp != (blocks.TempID{}) {
		file := a.journal.File()
		tree, err := f.tree(file.Root)
		if err != nil {
			f.host.Log.Error("not removed", "path", a.full, "error", err)
			return
		}
		a.from = fetch.Job{Tree: tree, Path: file.Path, Inflight: f.plan.inflight, Tag: f.state}
	}
	if err := a.discard(f.assemblies.store.Forget); err != nil {
		f.host.Log.Error("not removed", "path", a.full, "error", err)
	}
}

// expireEvery is how often it is looked for files of which no block has come for long.
const expireEvery = 10 * time.Minute

// expireBlocks gives up files of which the last block came before a time, and forgets what was done
// before it.
func (f *Flow) expireBlocks(before time.Time) {
	store := f.assemblies.store
	store.Sweep(before)
	for _, name := range store.Unfinished() {
		if written, err := store.Written(name); err != nil || !written.Before(before) {
			continue
		}
		journal, err := store.OpenNamed(name)
		if err != nil {
			continue
		}
		file := journal.File()
		here, _ := journal.Counts()
		journal.Close()
		full := Place{file.Root, file.Path}.Full()
		t := &turn{}
		if _, err := os.Stat(file.Root); file.Temp != (blocks.TempID{}) && errors.Is(err, fs.ErrNotExist) || !f.order.tryEnter(t, full) {
			continue
		}
		a := f.assemblies.enter(full)
		a.mu.Lock()
		if a.journal == nil {
			a.journal, _ = store.Open(full)
		}
		ended := f.endUnannounced(a)
		if !ended {
			f.abandon(a)
		}
		a.mu.Unlock()
		f.assemblies.leave(a)
		f.order.leave(t)
		if ended {
			continue
		}
		f.Counters.Incomplete.Add(1)
		f.host.Log.Error("given up, blocks missing", "path", full, "here", here, "of", file.Version.Cut.Count)
	}
}

// endUnannounced ends the journal of a file that is in place, and whose announcements no broker took: of that the
// dead letters tell. The lock is held.
func (f *Flow) endUnannounced(a *assembly) bool {
	if a.journal == nil || !a.journal.Complete() {
		return false
	}
	file := a.journal.File()
	tree, err := f.tree(file.Root)
	if err != nil {
		return false
	}
	if id, err := tree.ID(file.Path); err != nil || tempID(id) != file.Temp || f.assemblies.store.Done(a.full, a.journal) != nil {
		return false
	}
	a.close()
	return true
}

// showPost shows the hooks an announcement of a block that is about to be made, and reports whether it is to be.
func (f *Flow) showPost(j *job, of *post.Announcement) (bool, error) {
	chain := f.hooks.At(hook.OnPost)
	if chain.Empty() {
		return true, nil
	}
	e := &hook.Event{Announcement: of.Clone(), Local: j.at.Full()}
	e.Root, e.Dir, e.File = j.at.split()
	ok, err := chain.Run(f.grace, e)
	if err == nil && ok {
		*of = *e.Announcement
	}
	return ok, err
}
