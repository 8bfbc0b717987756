package watch

import (
	"context"
	"time"
)

// margin is how far before the moment in question a re-walk looks: an event may
// lie in the kernel's queue that long, and file servers' clocks differ.
const margin = time.Minute

// recover makes good for events that were dropped. Re-walks for that cause keep
// pauses as long as they take themselves.
func (n *notifier) recover(ctx context.Context) {
	from, lost := n.mail.lostSince()
	if !lost {
		return
	}
	if !n.overflowed {
		n.overflowed = true
		n.w.log.Warn("watch overflow", "hint",
			"raise fs.inotify.max_queued_events with sysctl; the roots are read again")
	}
	began := time.Now()
	n.rewalk(ctx, from)
	n.pause = time.Now().Add(time.Since(began))
}

// rewalk reads all roots again. Directories not yet watched are watched, and
// all their files reported; of the others, the files whose inode changed since
// from, unless just that state was reported. Directories that are gone are
// reported; the removal of single files cannot be seen here, since no list of
// them is kept: whoever keeps one compares it.
func (n *notifier) rewalk(ctx context.Context, from time.Time) {
	n.w.count.rewalks.Add(1)
	n.pass++
	cut := cutoff(from, time.Now())
	n.walked = time.Now()
	for _, root := range n.w.o.Roots {
		n.explore(ctx, visit{path: root, mode: since, cut: cut, root: true})
	}
	if ctx.Err() == nil {
		n.sweep()
	}
}

// sweep drops the directories a re-walk did not meet, where they are gone.
func (n *notifier) sweep() {
	var unmet []*node
	for _, dir := range n.tree.byPath {
		if dir.pass != n.pass {
			unmet = append(unmet, dir)
		}
	}
	for _, dir := range unmet {
		if n.tree.byPath[dir.path] == dir && n.moved(dir) {
			n.drop(dir, true)
		}
	}
}

// retry tries again what was denied, and reads it whole.
func (n *notifier) retry(ctx context.Context) {
	n.retried = time.Now()
	n.pass++
	for path := range n.denied {
		n.explore(ctx, visit{path: path, parent: n.parent(path), mode: since})
	}
}

// cutoff is the ctime from which on a file counts as changed since from. When
// the wall clock was stepped meanwhile, ctimes prove nothing and all count.
func cutoff(from, now time.Time) time.Time {
	step := now.Round(0).Sub(from.Round(0)) - now.Sub(from)
	if step.Abs() > margin/2 {
		return time.Time{}
	}
	return from.Round(0).Add(-margin)
}
