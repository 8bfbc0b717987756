package pump

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"srpump/pump/config"
	"srpump/pump/fetch"
	"srpump/pump/keep"
)

// Retiring is the option keep: what the flow installed is removed at an age. Only the flow's
// own record says what that is, and only what still looks as it was installed is removed.

// openKeeper opens the record where the option asks for one and there is a state to keep it in.
func (f *Flow) openKeeper() (err error) {
	age := f.cfg.Values.Duration("keep")
	if age <= 0 || !f.plan.files || f.plan.ephemeral || f.cfg.Preset&(config.Subscribe|config.Sarra) == 0 {
		return nil
	}
	f.keeper, err = keep.Open(f.keepDir(), age)
	return err
}

func (f *Flow) keepDir() string { return filepath.Join(f.state, "kept") }

// noteKept records what a job installed. What cannot be recorded stays.
func (f *Flow) noteKept(j *job) {
	if f.keeper == nil || !j.wrote {
		return
	}
	tree, err := f.tree(j.at.Root)
	var l fetch.Look
	if err == nil {
		l, err = tree.Look(j.at.Path)
	}
	if err == nil && j.block.Length() > 0 && l.Size != j.block.Length() {
		return // somebody was quicker: it is theirs
	}
	if err == nil {
		err = f.keeper.Note(keep.Entry{Root: j.at.Root, Path: j.at.Path, Size: l.Size, Mtime: l.Mtime, Installed: f.host.Now()})
	}
	if err != nil {
		f.host.Log.Error("not recorded, keep will not remove it", "path", j.at.Full(), "error", err)
	}
}

// keepEvery is how often files are retired when there is no heartbeat.
const keepEvery = 5 * time.Minute

// retireLoop retires at each heartbeat what is due.
func (f *Flow) retireLoop(ctx context.Context) {
	if f.keeper == nil {
		return
	}
	every := f.cfg.Values.Duration("heartbeat")
	if every <= 0 {
		every = keepEvery
	}
	tick := time.NewTicker(max(every, time.Second))
	defer tick.Stop()
	clock, last := keep.OpenClock(f.keepDir()), time.Now()
	for {
		now := time.Now()
		f.retire(ctx, clock, f.host.Now(), now.Sub(last))
		last = now
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// retirePause is the rest between two steps, in which others have the disk.
const retirePause = 10 * time.Millisecond

// retire removes what is due when the host's clock shows wall and the flow has run for passed
// since the last time.
func (f *Flow) retire(ctx context.Context, clock *keep.Clock, wall time.Time, passed time.Duration) {
	now, leapt := clock.Now(wall, passed)
	if leapt {
		f.host.Log.Warn("the clock leapt, for a day only what ages while this runs is retired", "clock", wall, "believed", now)
	}
	err := clock.Keep() // a full disk fails it, and needs the room most
	err = errors.Join(err, f.keeper.Due(ctx, now, func() { pause(ctx, retirePause) }, func(e keep.Entry) { f.retireOne(e, now) }))
	if err != nil {
		f.host.Log.Error("not all retired", "error", err)
	}
}

// retireOne removes one file, unless work on its path is under way, it was changed by
// somebody, or there is no tree any more. What is busy, or whose inode changed meanwhile (its
// permissions, or it was installed once more), gets its time again, once.
func (f *Flow) retireOne(e keep.Entry, now time.Time) {
	full := Place{e.Root, e.Path}.Full()
	if _, err := os.Stat(e.Root); err != nil {
		return
	}
	t := &turn{run: func() {}}
	if !f.order.tryEnter(t, full) {
		f.keepOn(e, now)
		return
	}
	younger := false
	tree, err := f.tree(e.Root)
	var gone bool
	if err == nil {
		gone, err = tree.Retire(e.Path, func(l fetch.Look) bool {
			if l.Size != e.Size || !l.Mtime.Equal(e.Mtime) {
				return false
			}
			younger = l.Ctime.After(now.Add(coarse - f.cfg.Values.Duration("keep")))
			return !younger
		})
	}
	f.order.leave(t)
	switch {
	case err != nil:
		f.host.Log.Warn("not retired", "path", full, "error", err)
		f.keepOn(e, now)
	case younger:
		f.keepOn(e, now)
	case gone:
		f.Counters.Retired.Add(1)
		f.host.Log.Info("retired", "path", full, "bytes", e.Size, "installed", e.Installed)
		f.retireDirs(tree, e)
	}
}

// keepOn gives a file its time once more.
func (f *Flow) keepOn(e keep.Entry, now time.Time) {
	if e.Again {
		return
	}
	e.Again, e.Installed = true, now
	if err := f.keeper.Note(e); err != nil {
		f.host.Log.Error("not recorded, keep will not remove it", "path", Place{e.Root, e.Path}.Full(), "error", err)
	}
}

// retireDirs removes the directories a removal left empty, up to the tree's own, each while
// nobody works below it.
func (f *Flow) retireDirs(tree *fetch.Tree, e keep.Entry) {
	for dir := path.Dir(e.Path); dir != "."; dir = path.Dir(dir) {
		t := &turn{run: func() {}}
		if !f.order.tryEnter(t, Place{e.Root, dir}.Full()) {
			return
		}
		gone := tree.RemoveEmpty(dir)
		f.order.leave(t)
		if !gone {
			return
		}
	}
}

// tree is a destination directory, opened when first needed.
func (f *Flow) tree(root string) (*fetch.Tree, error) {
	return f.trees.get(root, fetch.TreeOptions{DirMode: f.dirMode()})
}

// dirMode is the option chmod_dir.
func (f *Flow) dirMode() fs.FileMode { return fs.FileMode(f.cfg.Values.Octal("chmod_dir")) }
