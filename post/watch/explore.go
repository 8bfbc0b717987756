package watch

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"
	"time"
)

// A mode says which of the files met are reported.
type mode int

const (
	silent mode = iota // none: they were there before we began
	all                // every one: the directory is new to us
	since              // those whose inode changed since a time
)

// A visit is a directory to be watched, if it is not, and read.
type visit struct {
	path   string
	parent *node
	mode   mode
	cut    time.Time // for since
	from   string    // its path before it was moved; what is known from there is not news
	spared *[]string // gathers that
	root   bool      // a link is entered whatever Options.Follow says
}

// explore watches a directory and all below it, each before it is read, so that
// no file can come between: what was there before the watch is found by the
// reading, and what comes later has its event.
func (n *notifier) explore(ctx context.Context, first visit) {
	stack := []visit{first}
	for len(stack) > 0 && ctx.Err() == nil {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if dir := n.attach(&v); dir != nil {
			stack = n.read(ctx, dir, v, stack)
		}
	}
}

// attach watches the directory at v.path, and returns it when it is to be read.
// A directory that is new to us is read in mode all whatever the walk.
func (n *notifier) attach(v *visit) *node {
	if n.w.o.Skip != nil && n.w.o.Skip(v.path) {
		return nil
	}
	info, err := look(v.path, v.root || n.w.o.Follow)
	if err != nil || !info.IsDir() {
		n.deny(v.path, err)
		return nil
	}
	id := identify(info)
	if known := n.tree.byPath[v.path]; known != nil && known.id == id {
		return n.again(known, v)
	} else if known != nil {
		// Another file system mounted here is not a removal.
		n.drop(known, known.id.dev == id.dev)
	}
	if other := n.tree.byID[id]; other != nil {
		if !n.moved(other) {
			return nil
		}
		n.drop(other, true)
	}
	if !n.listen(v) {
		return nil
	}
	dir := n.tree.add(v.path, id, v.parent)
	dir.pass = n.pass
	n.w.count.watched.Store(int64(len(n.tree.byPath)))
	if v.mode == since {
		v.mode = all
	}
	return dir
}

// again meets a directory that is watched. A re-walk renews the watch, since
// the inode number may be that of a deleted directory, and reads it once.
func (n *notifier) again(dir *node, v *visit) *node {
	dir.under(v.parent)
	if v.mode != since || dir.pass == n.pass || !n.listen(v) {
		return nil
	}
	dir.pass = n.pass
	return dir
}

// listen sets the kernel's watch, and hands over to polling where it sets no more.
func (n *notifier) listen(v *visit) bool {
	err := n.add(v.path)
	if err == nil {
		n.poll.release(v.path)
		delete(n.denied, v.path)
		return true
	}
	if !errors.Is(err, syscall.ENOSPC) {
		n.deny(v.path, err)
		return false
	}
	if !n.limited {
		n.limited = true
		n.w.log.Warn("watch limit", "path", v.path, "watched", len(n.tree.byPath), "error", err,
			"hint", "raise fs.inotify.max_user_watches with sysctl; what exceeds it is polled")
	}
	n.poll.adopt(v.path, v.mode != silent)
	return false
}

// deny notes a directory that cannot be watched or read, to be tried again. One
// that vanished is no such case.
func (n *notifier) deny(path string, err error) {
	if err == nil || absent(err) {
		delete(n.denied, path)
		return
	}
	if _, known := n.denied[path]; known {
		return
	}
	n.denied[path] = struct{}{}
	n.w.count.unreadable.Add(1)
	n.w.log.Warn("watch denied", "path", path, "error", err)
}

// moved reports whether a watched directory is no longer where it was.
func (n *notifier) moved(dir *node) bool {
	info, err := look(dir.path, true)
	return absent(err) || err == nil && identify(info) != dir.id
}

// read goes through a directory, tells the pending set of its files as v.mode
// says, and pushes its directories.
func (n *notifier) read(ctx context.Context, dir *node, v visit, stack []visit) []visit {
	f, err := openDir(dir.path)
	if err != nil {
		n.deny(dir.path, err)
		return stack
	}
	defer f.Close()
	for ctx.Err() == nil {
		batch, err := f.ReadDir(walkBatch)
		for _, d := range batch {
			path := join(dir.path, d.Name())
			stack = n.meet(path, d, dir, &v, stack)
		}
		if err == io.EOF {
			delete(n.denied, dir.path)
			break
		} else if err != nil {
			n.deny(dir.path, err)
			break
		}
	}
	return stack
}

// meet tells of one entry of a directory as its visit says, and pushes it when it is a directory.
func (n *notifier) meet(path string, d fs.DirEntry, dir *node, v *visit, stack []visit) []visit {
	isDir := n.isDir(path, d)
	from := ""
	if v.from != "" {
		from = join(v.from, d.Name())
	}
	switch {
	case v.mode == silent && (isDir || reportable(d.Type())):
		n.w.known.put(path, isDir)
	case from != "" && n.w.known.has(from, isDir):
		*v.spared = append(*v.spared, path)
	case isDir && n.w.o.Dirs, !isDir && v.wants(d):
		n.w.pending.touch(path, found, n.w.o.Settle)
	}
	if !isDir {
		return stack
	}
	return append(stack, visit{path: path, parent: dir, mode: v.mode, cut: v.cut, from: from, spared: v.spared})
}

func (n *notifier) isDir(path string, d fs.DirEntry) bool {
	if d.IsDir() || !n.w.o.Follow || d.Type()&fs.ModeSymlink == 0 {
		return d.IsDir()
	}
	info, err := look(path, true)
	return err == nil && info.IsDir()
}

// wants reports whether a file met in this visit is to be told of.
func (v *visit) wants(d fs.DirEntry) bool {
	switch {
	case v.mode == silent || !reportable(d.Type()):
		return false
	case v.mode == all:
		return true
	}
	info, err := d.Info()
	return err == nil && !ChangeTime(info).Before(v.cut)
}
