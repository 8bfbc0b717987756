package fetch

import (
	"os"
	"slices"
)

// An op is one change of a name on its way through a batch.
type op struct {
	tree *Tree
	rel  string
	verb string // for errors
	step step
	done func(error)
	err  error
}

// A step is what differs between the changes. Its methods are called in this
// order; after an error only release is.
type step interface {
	prepare(o *op) error // everything that may fail and can be undone
	data() *Staged       // the file whose bytes must be durable before it is named, or nil
	apply(o *op) error   // the change itself, atomic
	dirs() []*openDir    // the directories to sync; none when nothing changed
	release(failed bool)
}

// commit runs a batch in the order that loses nothing: data durable, names
// changed, directories durable, and only then anybody told. What fails for one
// is told to that one; what fails for a filesystem to all on it.
func commit(batch []*op, sync bool) {
	each(batch, func(o *op) error { return o.step.prepare(o) })
	if sync {
		syncData(batch)
	}
	each(batch, func(o *op) error { return o.step.apply(o) })
	if sync {
		syncDirs(batch)
	}
	for _, o := range batch {
		if !sync {
			o.tree.takeMade() // nobody will sync them
		}
		o.step.release(o.err != nil)
		o.done(o.tree.failed(o.verb, o.rel, o.err))
	}
}

func each(batch []*op, do func(*op) error) {
	for _, o := range batch {
		if o.err == nil {
			o.err = do(o)
		}
	}
}

// Syncing a whole filesystem costs one commit of its journal, but writes
// everybody's data; so it is for batches with more files or directories.
const (
	wholeFromFiles = 8
	wholeFromDirs  = 8
)

// syncData makes the staged bytes of a batch durable. syncfs(2) tells of bytes that could not be written since Linux
// 5.8 only, and only of what failed after the one file it is given was opened; each of the others is asked for itself,
// as its bytes may have been lost before.
func syncData(batch []*op) {
	files := make(map[uint64][]*op) // by filesystem
	for _, o := range batch {
		if o.err == nil && o.step.data() != nil {
			dev := o.step.data().tempDir.dev
			files[dev] = append(files[dev], o)
		}
	}
	for _, ops := range files {
		if len(ops) >= wholeFromFiles {
			blame(ops, syncFilesystem(ops[0].step.data().f))
			each(ops, func(o *op) error { return wroteBack(o.step.data().f) })
			continue
		}
		each(ops, func(o *op) error { return o.step.data().f.Sync() })
	}
}

// syncDirs makes the names changed by a batch durable, and the directories made for it.
func syncDirs(batch []*op) {
	dirs := make(map[*openDir][]*op)
	devs := make(map[uint64]int)
	trees := make(map[*Tree][]*op)
	for _, o := range batch {
		if o.err != nil {
			continue
		}
		trees[o.tree] = append(trees[o.tree], o)
		for _, d := range o.step.dirs() {
			if dirs[d] == nil {
				devs[d.dev]++
			}
			dirs[d] = append(dirs[d], o)
		}
	}
	for t, ops := range trees {
		blame(ops, t.syncMade())
	}
	whole := make(map[uint64]error)
	for d, ops := range dirs {
		if devs[d.dev] < wholeFromDirs {
			blame(ops, d.f.Sync())
			continue
		}
		err, known := whole[d.dev]
		if !known {
			err = syncFilesystem(d.f)
			whole[d.dev] = err
		}
		blame(ops, err)
	}
}

// blame gives a failure to all it concerns.
func blame(ops []*op, err error) {
	for _, o := range ops {
		if o.err == nil {
			o.err = err
		}
	}
}

// syncMade makes the entries of new directories durable.
func (t *Tree) syncMade() error {
	t.syncing.Lock()
	defer t.syncing.Unlock()
	made := t.takeMade()
	if len(made) == 0 {
		return nil
	}
	slices.Sort(made)
	made = slices.Compact(made)
	if len(made) >= wholeFromDirs {
		if err := syncFilesystem(t.top.f); err != nil {
			t.noteMade(made)
			return err
		}
		return nil
	}
	for _, rel := range made {
		if err := t.syncDir(rel); err != nil {
			t.noteMade(made)
			return err
		}
	}
	return nil
}

// syncDir syncs one directory; one that is gone has nothing to lose.
func (t *Tree) syncDir(rel string) error {
	d, err := t.openDir(rel)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.release()
	return d.f.Sync()
}
