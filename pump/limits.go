package pump

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"srpump/pump/fetch"
)

// errOversized is a file larger than the option max_file_size allows.
var errOversized = errors.New("it is larger than max_file_size")

// oversized gives up what is announced to be larger than is wanted.
func (f *Flow) oversized(j *job) bool {
	most, size := f.plan.largest, j.a.Size()
	if j.a.HasBlock() {
		size = j.a.Block.FileSize()
	}
	if most <= 0 || size <= most {
		return false
	}
	err := fmt.Errorf("%w: %d bytes, allowed are %d", errOversized, size, most)
	v := fmt.Sprint(j.at.Full(), size, j.a.Header("mtime"))
	if before := f.oversize.Swap(&v); j.a.HasBlock() && before != nil && *before == v {
		f.lose(j, err) // it was said of another block
	} else {
		f.giveUp(j, err)
	}
	return true
}

// tooLarge gives up a block of a file that is larger than is wanted or than there could ever be room for, before
// anything of it is begun.
func (f *Flow) tooLarge(ctx context.Context, j *job, tree *fetch.Tree) bool {
	if f.oversized(j) {
		return true
	}
	err := f.room.fits(tree.Dir(), j.a.Block.FileSize())
	if err != nil {
		f.failed(ctx, j, err)
	}
	return err != nil
}

// isFull reports whether an error is that of a full filesystem.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// heedFull has all fetches wait when one failed because its filesystem is full.
func (f *Flow) heedFull(dir string, j *job, err error) {
	if isFull(err) && j.ongoing != nil && f.room.full(dir, j.ongoing) {
		f.paused(dir, j.ongoing)
	}
}

// enter begins the fetch of j, or has it wait for room, or gives it up. It reports whether to fetch now; then
// leave comes afterwards.
func (f *Flow) enter(ctx context.Context, j *job, tree *fetch.Tree) bool {
	if f.oversized(j) {
		return false
	}
	return f.enterAs(ctx, j, tree, &ongoing{path: j.at.Full(), size: j.a.Size(), began: time.Now()})
}

// enterBlock is the same for a block of a file that is put together in temp.
func (f *Flow) enterBlock(ctx context.Context, j *job, tree *fetch.Tree, a *assembly) bool {
	began, temp := a.start()
	whole := j.a.Block.FileSize()
	rest := func() int64 { return absent(temp, whole) }
	return f.enterAs(ctx, j, tree, &ongoing{path: j.at.Full(), size: j.a.Size(), began: began, whole: whole, rest: rest})
}

// going notes that a file of so many bytes is on its way to another host, which needs no room here; leave comes
// afterwards.
func (f *Flow) going(j *job, size int64) *ongoing {
	j.ongoing = &ongoing{path: j.at.Full(), size: size, began: time.Now()}
	f.room.note(j.ongoing)
	return j.ongoing
}

func (f *Flow) enterAs(ctx context.Context, j *job, tree *fetch.Tree, t *ongoing) bool {
	j.ongoing = t
	in, first, err := f.room.enter(ctx, j, tree.Dir(), t)
	switch {
	case err != nil:
		f.failed(ctx, j, err)
	case first:
		f.paused(tree.Dir(), t)
	}
	return in
}

// paused says that it is, for the sake of t, and goes on once there is room.
func (f *Flow) paused(dir string, t *ongoing) {
	s, _ := lookAtSpace(dir)
	f.host.Log.Warn("paused, too little free space", "directory", dir, "free", s.free, "min_free", f.room.least.Of(s.total), "path", t.path, "wanted", t.wants())
	f.host.paused(fmt.Errorf("%w in %s", errLittle, dir))
	if f.life.Err() != nil {
		return
	}
	f.pauses.Go(func() {
		tick := time.NewTicker(roomEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-f.life.Done():
				return
			}
			if waited, yes := f.room.reopen(); yes {
				f.host.Log.Info("going on, there is free space again", "directory", dir)
				f.host.paused(nil)
				for _, t := range waited {
					f.pool.add(t.ctx, t.j)
				}
				return
			}
		}
	})
}
