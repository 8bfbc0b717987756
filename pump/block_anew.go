package pump

import (
	"srpump/post"
	"srpump/pump/blocks"
	"srpump/pump/fetch"
)

// doneBefore fails when the file was put together before, from these blocks or newer ones. Two states of a file may
// have one time of modification, and be put together mixed: the block that shows it begins the file anew.
func (f *Flow) doneBefore(j *job, a *assembly, from fetch.Job, v blocks.Version) error {
	log, err := f.assemblies.store.OpenDone(a.full)
	if err != nil {
		return nil
	}
	defer log.Close()
	done := log.File().Version
	if v.Posted.After(done.Posted) {
		return nil
	}
	if from.Tree != nil {
		look, err := from.Tree.Look(from.Path)
		if err != nil || look.Size != done.Cut.FileSize() {
			return nil // it is not here any more
		}
	}
	if v.Cut != done.Cut || v.Mtime != done.Mtime {
		return errOlder
	}
	r, ok, err := log.Find(j.a.Block.Number)
	if err != nil {
		return err
	}
	if !ok || sameSum(j.a, r) || !j.a.Time.Time().After(r.Came.Time.Time()) {
		return errFinished
	}
	n, err := f.awakenOthers(log, r.Number, "another block of its file has changed")
	if err == nil {
		f.host.Log.Info("put together of two states, begun anew", "path", a.full, "block", r.Number, "blocks", n)
	}
	return err
}

// sameSum reports whether nothing shows that a block is of other bytes than the one that is here.
func sameSum(a *post.Announcement, r blocks.Record) bool {
	return !a.Sum.Verifiable() || a.Sum.Method != r.Sum.Method || a.Sum.Equal(r.Sum)
}

// awakenOthers has all blocks of a journal but one looked at again, and counts them all.
func (f *Flow) awakenOthers(log *blocks.Journal, but int64, why string) (n int, err error) {
	err = log.Each(func(r blocks.Record) error {
		if n++; r.Number == but {
			return nil
		}
		return f.awaken(r, why)
	})
	return n, err
}

// continues reports whether a block is one of a file that is on its way: it belongs there, however late.
func (f *Flow) continues(j *job) bool {
	v, err := blocks.VersionOf(j.a, f.believed(j.a.Time))
	if err != nil || !inBlocks(j.a) || !f.assembles(j.a) || !f.assemblies.store.Knows(j.at.Full()) {
		return false
	}
	a := f.assemblies.enter(j.at.Full())
	defer f.assemblies.leave(a)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.journal == nil {
		a.journal, _ = f.assemblies.store.Open(a.full) // what cannot be read is nothing to go on with
	}
	return a.journal != nil && a.journal.File().Version.Same(v)
}
