package pump

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"srpump/post"
	"srpump/pump/fetch"
)

// moving finds the other name of what was moved or linked (sr_post(7), oldname, newname): where
// it would be here, were it announced under that name. It is the zero Place where nothing is to be made
// of that name: the rules reject it, or it leads outside.
func (f *Flow) moving(j *job) {
	name := j.a.Header(post.HeaderOldname)
	if j.a.Sum.IsRemoval() {
		name = j.a.Header(post.HeaderNewname)
	}
	if name == "" {
		return
	}
	other := j.a.Clone()
	other.Path = name
	other.SetHeader(post.HeaderRename, "")
	choice, err := f.rules.Choose(other)
	if err != nil || !choice.Accept {
		return
	}
	from, err := other.Retrieval(f.plan.baseMode)
	if err != nil {
		return
	}
	if at, err := f.place.Place(other, &choice, from.Path); err == nil && at != j.at {
		j.other = at
	}
}

// remove takes a name away, and gives what bore it the new name where it has one here.
func (f *Flow) remove(ctx context.Context, j *job, tree *fetch.Tree) {
	plain := func() {
		f.install.Remove(tree, j.at.Path, func(err error) { f.installed(ctx, j, "removed", err) })
	}
	if j.other == (Place{}) || j.apart {
		plain()
		return
	}
	to, err := f.tree(j.other.Root)
	if err != nil {
		f.failed(ctx, j, err)
		return
	}
	if !f.movable(j, tree, to) {
		plain()
		return
	}
	f.install.Move(tree, j.at.Path, to, j.other.Path, func(err error) {
		switch {
		case err == nil:
			f.installed(ctx, j, "moved", nil)
		case errors.Is(err, fs.ErrNotExist):
			f.installed(ctx, j, "removed", nil)
		case fetch.ClassOf(err) == fetch.Hopeless, fetch.ClassOf(err) == fetch.Blocked:
			f.apart(ctx, j)
		default:
			f.failed(ctx, j, err)
		}
	})
}

// movable reports whether what is here under the old name may take the new one: nothing that came
// later than it bears that.
func (f *Flow) movable(j *job, tree, to *fetch.Tree) bool {
	if !to.Has(j.other.Path) {
		return true
	}
	if tree.IsDir(j.at.Path) || to.IsDir(j.other.Path) {
		return false
	}
	came, known := f.order.last(j.at.Full())
	there, newer := f.order.last(j.other.Full())
	return known && (!newer || there.Before(came))
}

// fromOld gives the file at the old name the new one as well, where it is what is announced; the
// old one goes when its removal is announced, for it may be one of two names to stay. It
// reports whether it took the job on.
func (f *Flow) fromOld(ctx context.Context, j *job, tree *fetch.Tree) bool {
	if j.other == (Place{}) || j.apart {
		return false
	}
	old, err := f.tree(j.other.Root)
	if err != nil {
		return false
	}
	if same, err := fetch.Same(ctx, old, j.other.Path, j.a, f.keepsSums()); err != nil || !same {
		return false
	}
	j.sum, j.block, j.spent = j.a.Sum, j.a.Block, true
	f.install.Take(f.fetchJob(j, tree), old, j.other.Path, func(err error) {
		if err != nil { // what cannot be linked can be fetched
			f.apart(ctx, j)
			return
		}
		j.wrote = true
		f.installed(ctx, j, "renamed", nil)
	})
	return true
}

// apart begins j again without making use of its other name.
func (f *Flow) apart(ctx context.Context, j *job) {
	j.apart = true
	f.pool.add(ctx, j)
}

// alike goes on with a file whose bytes are here already: it is given the mode and times announced.
func (f *Flow) alike(ctx context.Context, j *job, tree *fetch.Tree) {
	want := f.fetchJob(j, tree)
	if want.Adjusted() {
		f.unchanged(ctx, j)
		return
	}
	j.sum, j.block, j.spent = j.a.Sum, f.announcedBlock(j.a, j.a.Size()), !inBlocks(j.a)
	f.install.Adjust(want, func(err error) { f.installed(ctx, j, "adjusted", err) })
}

// owesNews reports whether a file that is here already is to be announced on all the same: a
// killed run may have installed it without doing so, or it came by the removal of its old name,
// and whoever follows us waits for the second half of that, or a filter has not seen it. What comes back from those who follow
// is known by its time.
func (f *Flow) owesNews(j *job, before time.Time) bool {
	return f.stage.takes(j) || j.again || j.a.Header(post.HeaderOldname) != "" && before.Before(j.a.Time.Time())
}

// renamedOn translates the names of a move into those of the copy, for who follows us; a name that
// is not here is left out.
func (f *Flow) renamedOn(a *post.Announcement, j *job) {
	a.SetHeader(post.HeaderOldname, "")
	a.SetHeader(post.HeaderNewname, "")
	if j.other == (Place{}) {
		return
	}
	name := relativeTo(f.plan.postDir, j.other.Full())
	if a.Base == post.LocalBase {
		name = j.other.Full()
	}
	if a.Sum.IsRemoval() {
		a.SetHeader(post.HeaderNewname, name)
	} else {
		a.SetHeader(post.HeaderOldname, name)
	}
}
