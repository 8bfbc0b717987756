package pump

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"srpump/post"
	"srpump/pump/blocks"
	"srpump/pump/fetch"
	"srpump/pump/hook"
	"srpump/pump/transfer"
)

// fetchBlock sees to it that one block is here: verified in the temporary file of its file, durable and
// written down. Only then is it done; the file is when all are. What goes to another host has no tree, and is
// here: it is verified and written down.
func (f *Flow) fetchBlock(ctx context.Context, j *job, tree *fetch.Tree) {
	j.partial = true
	if err := f.refusesBlock(j); err != nil {
		f.giveUp(j, fmt.Errorf("%w: block=%d of=%d", err, j.a.Block.Number, j.a.Block.Count))
		return
	}
	if tree != nil && f.tooLarge(ctx, j, tree) {
		return
	}
	if !f.assembles(j.a) {
		f.fetch(ctx, j, tree)
		return
	}
	a := f.assemblies.enter(j.at.Full())
	log := f.join(ctx, j, a, tree)
	if log == nil {
		f.assemblies.leave(a)
		return
	}
	n := j.a.Block.Number
	if !a.claim(j, n) {
		f.assemblies.leave(a)
		return
	}
	if log.Has(n) && f.blockHere(ctx, j, a, log, tree) {
		f.letGo(ctx, a, n)
		return
	}
	if tree != nil {
		if !f.enterBlock(ctx, j, tree, a) {
			f.letGo(ctx, a, n)
			return
		}
		defer f.room.leave(j.ongoing)
	}
	r, err := f.bring(ctx, j, a, log, tree)
	if err != nil {
		f.letGo(ctx, a, n)
		f.blockFailed(ctx, j, err)
		return
	}
	if tree == nil { // the last one sends the file, which is for a worker
		f.keepBlock(ctx, j, a, log, tree, r)
		return
	}
	// Others fetch on while this is made durable.
	f.crew.start(func() { f.keepBlock(ctx, j, a, log, tree, r) })
}

// letGo gives a block and its file back.
func (f *Flow) letGo(ctx context.Context, a *assembly, n int64) {
	for _, w := range a.free(n) {
		f.pool.add(ctx, w)
	}
	f.assemblies.leave(a)
}

// errOther is a block of another version than that which is on its way.
var errOther = errors.New("other blocks of the same time are on their way")

// join opens what there is of the file, or begins it. It returns the journal where the block is of the version
// that is on its way; else it has dealt with the job. A journal that is no longer that of a takes no blocks.
func (f *Flow) join(ctx context.Context, j *job, a *assembly, tree *fetch.Tree) *blocks.Journal {
	a.mu.Lock()
	defer a.mu.Unlock()
	v, err := blocks.VersionOf(j.a, f.believed(j.a.Time))
	if err != nil {
		f.giveUp(j, err)
		return nil
	}
	err = f.openAssembly(j, a, tree, v)
	switch {
	case err == nil:
		if !f.cfg.Values.Bool("overwrite") && tree != nil {
			a.lookOld(f.fetchJob(j, tree))
		}
		return a.journal
	case errors.Is(err, errOlder):
		f.Counters.Superseded.Add(1)
		f.host.Log.Info("superseded", "path", j.at.Full(), "announced", j.a.Time)
		f.end(j, dropped)
	case errors.Is(err, errFinished):
		f.knownBlock(j)
	default:
		f.failed(ctx, j, err)
	}
	return nil
}

// Blocks of which nothing is to be made.
var (
	errOlder    = errors.New("a newer version is on its way")
	errFinished = errors.New("the file is here already")
)

// openAssembly opens the version of the file that v is, or begins it in place of an older one.
func (f *Flow) openAssembly(j *job, a *assembly, tree *fetch.Tree, v blocks.Version) (err error) {
	store, from := f.assemblies.store, f.fetchJob(j, tree)
	a.from = fetch.Job{Tree: tree, Path: from.Path, Inflight: from.Inflight, Tag: from.Tag}
	if a.journal == nil {
		if a.journal, err = store.Open(a.full); err != nil && !notThere(err) {
			return err
		}
	}
	if a.journal != nil {
		here := a.journal.File().Version
		switch {
		case here.Same(v):
			if err = f.continueAssembly(j, a, from, v); !errors.Is(err, fetch.ErrLost) && !errors.Is(err, errAltered) {
				return err
			}
			if err := f.lost(j, a, err); err != nil {
				return err
			}
		case v.Posted.Before(here.Posted):
			return errOlder
		case v.Posted.Equal(here.Posted):
			return errOther
		default:
			f.host.Log.Info("incomplete, replaced by a newer version", "path", a.full, "announced", j.a.Time)
		}
		if err := a.discard(store.Forget); err != nil {
			return err
		}
	}
	if err := f.doneBefore(j, a, from, v); err != nil {
		return err
	}
	file := blocks.File{Root: j.at.Root, Path: j.at.Path, Version: v}
	if tree == nil {
		return f.beginSent(j, a, file)
	}
	return a.create(store, from, file, f.plan.sync != fetch.SyncOff)
}

func (f *Flow) continueAssembly(j *job, a *assembly, from fetch.Job, v blocks.Version) (err error) {
	switch {
	case a.temp != nil, a.installed, a.ending:
	case from.Tree == nil:
		err = f.stillHere(j, a)
	default:
		err = a.reopen(from)
	}
	if err != nil {
		return err
	}
	return a.journal.Later(v)
}

// lost has all blocks of a file fetched again whose temporary file is gone, or verified again.
func (f *Flow) lost(j *job, a *assembly, why error) error {
	if err := a.freeze(f.assemblies.store); err != nil {
		return err
	}
	n, err := f.awakenOthers(a.journal, j.a.Block.Number, why.Error())
	if errors.Is(why, errAltered) {
		f.host.Log.Warn("changed here, its blocks are verified again", "path", j.from.Local, "blocks", n, "error", err)
	} else {
		f.host.Log.Warn("temporary file lost, its blocks are fetched again", "path", a.full, "blocks", n, "error", err)
	}
	return err
}

// blockHere deals with a block that came before, and reports whether it did: one of other bytes that
// was announced later takes its place.
func (f *Flow) blockHere(ctx context.Context, j *job, a *assembly, log *blocks.Journal, tree *fetch.Tree) bool {
	r, _, err := log.Find(j.a.Block.Number)
	if errors.Is(err, os.ErrClosed) { // it was done meanwhile
		f.pool.add(ctx, j)
		return true
	}
	if err != nil {
		f.failed(ctx, j, err)
		return true
	}
	same := sameSum(j.a, r)
	switch {
	case same && log.Complete():
		f.assemble(ctx, j, a, tree)
	case same:
		f.knownBlock(j)
	case !j.a.Time.Time().After(r.Came.Time.Time()):
		f.failed(ctx, j, fmt.Errorf("%w: block %d has sum %s, announced %s", errMismatch, r.Number, r.Sum, j.a.Sum))
	default:
		if err := a.drop(r.Number); err != nil {
			f.failed(ctx, j, err)
			return true
		}
		return false
	}
	return true
}

// drop forgets a block that is to be fetched anew, unless it is too late for that.
func (a *assembly) drop(n int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ending || a.journal == nil || a.journal.Complete() {
		return errOther
	}
	return a.journal.Drop(n)
}

// knownBlock ends a job whose block is here.
func (f *Flow) knownBlock(j *job) {
	f.Counters.Unchanged.Add(1)
	f.host.Log.Info("unchanged", "path", j.at.Full(), "block", j.a.Block.Number, "sum", j.a.Sum)
	f.report(j, codeNotModified, "not modified3")
	f.end(j, done)
}

// bring puts the bytes of a block in their place: from the older copy where they are the same, else from
// where they are announced.
func (f *Flow) bring(ctx context.Context, j *job, a *assembly, log *blocks.Journal, tree *fetch.Tree) (blocks.Record, error) {
	b := j.a.Block
	r := blocks.Record{Number: b.Number, Sum: j.a.Sum, Came: j.came, Made: j.a}
	if tree == nil {
		sum, err := f.verifyHere(ctx, j, log)
		r.Sum = j.a.Sum.Announced(sum)
		return r, err
	}
	if kept, err := a.temp.Keep(ctx, a.old, j.a.Sum, b.Offset(), b.Length()); err == nil && kept {
		r.Kept = true
		return r, f.onPart(ctx, j, a, &r)
	}
	sum, err := f.bringFrom(ctx, j, a, tree)
	if err != nil {
		return r, err
	}
	r.Sum = j.a.Sum.Announced(sum)
	return r, f.onPart(ctx, j, a, &r)
}

// bringFrom fetches a block, at once again after trouble that may pass.
func (f *Flow) bringFrom(ctx context.Context, j *job, a *assembly, tree *fetch.Tree) (sum post.Fingerprint, err error) {
	tries := f.cfg.Values.Int("attempts")
	if f.jobs.entry(j) != nil {
		tries = 1
	}
	for try := range tries {
		if try > 0 && !pause(ctx, time.Duration(try)*100*time.Millisecond) {
			return sum, ctx.Err()
		}
		var n int64
		var match bool
		n, sum, match, err = a.temp.Fetch(ctx, f.fetchJob(j, tree), j.a.Block.Offset())
		if err == nil && !match {
			return sum, fmt.Errorf("%w: %d bytes with sum %s, announced %d with %s", errMismatch, n, sum, j.a.Size(), j.a.Sum)
		}
		if err == nil || !passing(err) {
			break
		}
	}
	return sum, err
}

// blockFailed tries what the announced URL may stand for as well, if anything, or later again.
func (f *Flow) blockFailed(ctx context.Context, j *job, err error) {
	if err != nil && transfer.ClassOf(err) == transfer.NotFound && j.from.Second != "" {
		j.from.URL, j.from.Second, j.at = j.from.Second, "", j.second
		f.pool.add(ctx, j)
		return
	}
	f.heedFull(j.at.Root, j, err)
	f.failed(ctx, j, err)
}

// keepBlock is what makes a block done: its bytes are made durable, then it is written down. Many that come
// together share that.
func (f *Flow) keepBlock(ctx context.Context, j *job, a *assembly, log *blocks.Journal, tree *fetch.Tree, r blocks.Record) {
	completed, err := log.Add(r, a.sync)
	if err != nil {
		a.spoil()
		f.letGo(ctx, a, r.Number)
		f.failed(ctx, j, err)
		return
	}
	f.tellBlock(j, a, r)
	if completed {
		f.assemble(ctx, j, a, tree)
	} else {
		f.end(j, done)
	}
	f.letGo(ctx, a, r.Number)
}

// tellBlock says that a block is here. That one is delivered is not said before its file is.
func (f *Flow) tellBlock(j *job, a *assembly, r blocks.Record) {
	b := j.a.Block
	j.sum, j.block = r.Sum, b
	switch {
	case f.plan.there != nil:
		f.host.Log.Info("block verified", "path", j.from.Local, "block", b.Number, "of", b.Count, "bytes", b.Length(), "sum", r.Sum)
		return
	case r.Kept:
		f.Counters.BlocksKept.Add(1)
		f.host.Log.Info("block kept", "path", a.full, "block", b.Number, "of", b.Count, "bytes", b.Length(), "sum", r.Sum)
	default:
		f.Counters.Blocks.Add(1)
		f.Counters.Bytes.Add(b.Length())
		f.host.Log.Info("block fetched", "path", a.full, "block", b.Number, "of", b.Count, "bytes", b.Length(), "url", j.url(), "sum", r.Sum)
	}
	f.reportInstalled(j, "fetched")
}

// onPart shows a block to the hooks, as bytes of the temporary file. Where they answer false nobody is told
// of it.
func (f *Flow) onPart(ctx context.Context, j *job, a *assembly, r *blocks.Record) error {
	chain := f.hooks.At(hook.OnPart)
	if chain.Empty() {
		return nil
	}
	e := &hook.Event{Announcement: j.a.Clone(), Local: a.temp.TempPath()}
	e.Announcement.Sum = r.Sum
	e.Root, e.Dir, e.File = j.at.split()
	ok, err := chain.Run(ctx, e)
	if err != nil {
		return err
	}
	if !ok {
		f.host.Log.Info("dropped by a hook", "option", hook.OnPart, "path", a.full, "block", r.Number)
	}
	e.Announcement.Sum, e.Announcement.Block = j.a.Sum, j.a.Block
	j.a, r.Made, r.Silent = e.Announcement, e.Announcement, !ok
	return nil
}
