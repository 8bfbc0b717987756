package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A notifier is the method that listens to the kernel. One goroutine drains the
// events into the mailbox and does nothing else; another looks into them, in
// order, and is the only one to set and drop watches.
type notifier struct {
	w       *Watcher
	fs      *fsnotify.Watcher
	add     func(path string) error // fs.Add
	mail    *mailbox
	poll    *poller
	drained chan struct{} // closed when the draining goroutine has ended; nil before begin

	tree   *tree
	pass   uint32               // the number of this re-walk
	files  map[string]fileState // roots that are files
	denied map[string]struct{}  // directories that could not be watched or read

	walked     time.Time // when the last re-walk, or the first walk, began
	pause      time.Time // no re-walk for lost events before
	retried    time.Time // when the denied directories were tried last
	overflowed bool      // the loss of events has been logged
	limited    bool      // the watch limit has been logged
}

func newNotifier(w *Watcher, p *poller) (*notifier, error) {
	fsw, err := fsnotify.NewBufferedWatcher(4096)
	if err != nil {
		return nil, fmt.Errorf("cannot listen to the kernel's file events: %w", err)
	}
	return &notifier{
		w: w, fs: fsw, add: fsw.Add, poll: p,
		mail: newMailbox(), tree: newTree(),
		files: make(map[string]fileState), denied: make(map[string]struct{}),
	}, nil
}

// begin watches all directories there are, and reports none of their files.
func (n *notifier) begin(ctx context.Context) error {
	n.drained = make(chan struct{})
	go n.drain()
	n.walked = time.Now()
	for _, root := range n.w.o.Roots {
		n.root(ctx, root, silent)
	}
	return ctx.Err()
}

func (n *notifier) close() error {
	err := n.fs.Close()
	if n.drained != nil {
		<-n.drained
	}
	return err
}

// drain empties the kernel's queue as fast as it can.
func (n *notifier) drain() {
	defer close(n.drained)
	for {
		if len(n.fs.Events) == 0 {
			n.mail.idle()
		}
		select {
		case ev, ok := <-n.fs.Events:
			if !ok {
				return
			}
			n.sort(ev)
		case err, ok := <-n.fs.Errors:
			if !ok {
				return
			}
			n.trouble(err)
		}
	}
}

// sort sends writes, which only files get, straight to the pending set, and all
// else to be looked into.
func (n *notifier) sort(ev fsnotify.Event) {
	if strings.HasPrefix(ev.Name, "//") {
		ev.Name = ev.Name[1:] // an entry of the root directory itself
	}
	if ev.Op == fsnotify.Write {
		n.w.pending.touch(ev.Name, content, n.w.o.Settle)
	} else if n.mail.put(ev) {
		n.w.count.overflows.Add(1)
	}
}

func (n *notifier) trouble(err error) {
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		n.w.count.overflows.Add(1)
		n.mail.lose()
		return
	}
	n.w.count.errors.Add(1)
	n.w.log.Warn("watch trouble", "error", err)
}

// follow looks into events as they come, at the roots each second, and reads
// everything again when events were lost or the time has come.
func (n *notifier) follow(ctx context.Context) error {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-n.mail.wake:
			n.open(ctx)
		case <-second.C:
			n.tick(ctx)
		}
		if n.mail.missing() && time.Now().After(n.pause) {
			n.recover(ctx)
		}
	}
	return ctx.Err()
}

// open looks into all events that have come.
func (n *notifier) open(ctx context.Context) {
	for notes := n.mail.take(); len(notes) > 0; notes = n.mail.take() {
		for _, ev := range notes {
			if ctx.Err() != nil {
				return
			}
			n.handle(ctx, ev)
		}
	}
}

func (n *notifier) handle(ctx context.Context, ev fsnotify.Event) {
	if ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename) {
		n.lost(ev.Name)
		return
	}
	if ev.Op == fsnotify.Chmod && n.tree.byPath[ev.Name] != nil {
		return
	}
	info, err := look(ev.Name, n.w.o.Follow)
	if err == nil && info.IsDir() && n.w.o.Dirs {
		n.w.pending.touch(ev.Name, content, n.w.o.Settle)
	}
	from := cameFrom(ev)
	switch {
	case err == nil && from != "":
		n.movedHere(ctx, from, ev.Name, info.IsDir())
	case err == nil && info.IsDir():
		n.explore(ctx, visit{path: ev.Name, parent: n.parent(ev.Name), mode: all})
	case ev.Op == fsnotify.Chmod:
		n.w.pending.touch(ev.Name, attrib, n.w.o.Settle)
	default:
		n.w.pending.touch(ev.Name, content, n.w.o.Settle)
	}
}

// lost lets go what was watched under a path that was deleted or moved away.
func (n *notifier) lost(path string) {
	if dir := n.tree.byPath[path]; dir != nil {
		n.drop(dir, true)
	} else if n.poll.release(path) {
		n.w.pending.touch(path, goneDir, n.w.o.Settle)
	} else {
		n.w.pending.touch(path, gone, n.w.o.Settle)
	}
}

// drop ends the watches of a directory and of all below it. The kernel's watch
// follows a directory that is moved, and would tell its old name for ever.
func (n *notifier) drop(dir *node, tell bool) {
	n.tree.cut(dir, func(d *node) {
		// The kernel may have dropped it by itself; then there is nothing to do.
		_ = n.fs.Remove(d.path)
	})
	n.w.count.watched.Store(int64(len(n.tree.byPath)))
	if tell {
		n.w.pending.touch(dir.path, goneDir, n.w.o.Settle)
	}
}

func (n *notifier) parent(path string) *node {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return n.tree.byPath[path[:i]]
	}
	return n.tree.byPath["/"]
}

// tick looks after what no event tells: whether the roots are still what they
// were, and whether what was denied is granted now.
func (n *notifier) tick(ctx context.Context) {
	for _, root := range n.w.o.Roots {
		n.root(ctx, root, all)
	}
	if len(n.denied) > 0 && time.Since(n.retried) > 10*time.Second {
		n.retry(ctx)
	}
	if every := n.w.o.Rescan; every > 0 && time.Since(n.walked) > every {
		n.rewalk(ctx, n.walked)
	}
}

// root watches a root that is new or was replaced, and compares one that is a
// file. The kernel tells nothing of a root whose parent was renamed.
func (n *notifier) root(ctx context.Context, root string, m mode) {
	info, err := look(root, true)
	dir, before := n.tree.byPath[root], n.files[root]
	switch {
	case absent(err):
		if dir != nil {
			n.drop(dir, true)
		}
		if before != (fileState{}) {
			delete(n.files, root)
			n.w.pending.touch(root, gone, n.w.o.Settle)
		}
	case err != nil:
		n.deny(root, err)
	case !info.IsDir():
		if dir != nil {
			n.drop(dir, true)
		}
		if n.files[root] = stateOf(info); n.files[root] != before && m != silent {
			n.w.pending.touch(root, content, n.w.o.Settle)
		}
	case (dir == nil || dir.id != identify(info)) && !n.refused(root):
		n.explore(ctx, visit{path: root, mode: m, root: true})
	}
}

// refused reports whether a directory is known not to be watchable now.
func (n *notifier) refused(path string) bool {
	_, denied := n.denied[path]
	return denied || n.poll.has(path)
}
