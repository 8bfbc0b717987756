package fetch

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Sync is how much is made durable before an installation counts as done.
type Sync int

const (
	SyncGroup Sync = iota // files and directories once per batch
	SyncEach              // per file
	SyncOff               // the kernel writes when it likes; a power cut may lose what was reported done
)

// ParseSync reads the option fsync: group, each or off.
func ParseSync(s string) (Sync, error) {
	switch s {
	case "", "group":
		return SyncGroup, nil
	case "each":
		return SyncEach, nil
	case "off":
		return SyncOff, nil
	}
	return 0, fmt.Errorf("bad fsync %q: it must be group, each or off", s)
}

// InstallerOptions bound a batch of SyncGroup. The zero value is what measured best.
type InstallerOptions struct {
	Sync     Sync
	MaxBatch int           // files; default 512, or a quarter of the open files the system allows, for each stays open until installed
	Window   time.Duration // from the first of a batch, while others are being fetched; default 20 ms
}

// quiet is how long a batch waits for more when no fetch is under way.
const quiet = time.Millisecond

// An Installer puts staged files in place, and makes and removes names. All
// its methods call done exactly once, with nil when the change is in place and
// as durable as configured. With SyncGroup they return at once, or when there
// is room for more, and done is called by the Installer: it must be quick, the
// next batch waits for it. With SyncEach and SyncOff done was called when they
// return. Changes of one path must be handed over one after the other, each
// when the one before is done. Many goroutines may use it at once.
type Installer struct {
	o    InstallerOptions
	ops  chan *op
	over sync.WaitGroup
}

func defaultBatch() int {
	const most = 512
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur/4 >= most {
		return most
	}
	return max(1, int(limit.Cur/4))
}

// NewInstaller starts an Installer; Close ends it.
func NewInstaller(o InstallerOptions) *Installer {
	if o.MaxBatch < 1 {
		o.MaxBatch = defaultBatch()
	}
	if o.Window <= 0 {
		o.Window = 20 * time.Millisecond
	}
	in := &Installer{o: o, ops: make(chan *op, o.MaxBatch)}
	if o.Sync == SyncGroup {
		in.over.Go(in.run)
	}
	return in
}

// Close finishes what was handed over. Nothing may be handed over afterwards.
func (in *Installer) Close() {
	close(in.ops)
	in.over.Wait()
}

// Install renames a staged file over whatever file or link has its name; a
// directory there is a failure of class Blocked. The staged file is used up.
func (in *Installer) Install(s *Staged, done func(error)) {
	s.uncount()
	in.hand(&op{tree: s.tree, rel: s.rel, verb: "write", step: &renameStep{s}, done: done})
}

// Link makes a symbolic link, replacing a file or link of that name. See
// TreeOptions about targets outside the tree.
func (in *Installer) Link(t *Tree, rel, target string, done func(error)) {
	in.hand(&op{tree: t, rel: rel, verb: "link", step: &linkStep{target: target}, done: done})
}

// Remove removes a file, a link or an empty directory; one that is not there is removed already.
func (in *Installer) Remove(t *Tree, rel string, done func(error)) {
	in.hand(&op{tree: t, rel: rel, verb: "remove", step: &removeStep{}, done: done})
}

// Mkdir makes a directory and those above it; one that is there is made already.
func (in *Installer) Mkdir(t *Tree, rel string, done func(error)) {
	in.hand(&op{tree: t, rel: rel, verb: "create", step: &mkdirStep{}, done: done})
}

func (in *Installer) hand(o *op) {
	if in.o.Sync == SyncGroup {
		in.ops <- o
		return
	}
	commit([]*op{o}, in.o.Sync != SyncOff)
}

// run commits batches: while one is being synced the next gathers, so that a
// lone file hardly waits and a flood is synced rarely.
func (in *Installer) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for o := range in.ops {
		batch := in.gather([]*op{o}, timer)
		commit(batch, true)
	}
}

func (in *Installer) gather(batch []*op, timer *time.Timer) []*op {
	end := time.Now().Add(in.o.Window)
	for len(batch) < in.o.MaxBatch {
		select {
		case o, ok := <-in.ops:
			if !ok {
				return batch
			}
			batch = append(batch, o)
			continue
		default:
		}
		wait := time.Until(end)
		if !busy(batch) {
			wait = min(wait, quiet)
		}
		if wait <= 0 {
			return batch
		}
		timer.Reset(wait)
		select {
		case o, ok := <-in.ops:
			if !ok {
				return batch
			}
			batch = append(batch, o)
		case <-timer.C:
			return batch
		}
	}
	return batch
}

// busy reports whether fetches are under way that will want to join.
func busy(batch []*op) bool {
	for _, o := range batch {
		if o.tree.pending.Load() > 0 {
			return true
		}
	}
	return false
}
