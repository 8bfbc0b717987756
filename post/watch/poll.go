package watch

import (
	"context"
	"sync"
	"time"
)

// A poller is the method that compares: it reads its subtrees again and again
// and tells what differs from the time before. It serves force_polling, and
// what the kernel refuses to watch.
type poller struct {
	w    *Watcher
	wake chan struct{} // a subtree was adopted
	hold time.Duration // the quiet time of what polling noticed: over one pass

	mu    sync.Mutex
	trees map[string]*polled
}

// A polled subtree and what the last pass saw of it.
type polled struct {
	path    string
	user    bool // named by the caller, and so waited for when it is gone
	tell    bool // report what is found; not so for what was there at the start
	state   fileState
	folders map[string]folder
}

func newPoller(w *Watcher) *poller {
	return &poller{
		w: w, wake: make(chan struct{}, 1),
		hold:  w.o.Settle + w.o.PollInterval,
		trees: make(map[string]*polled),
	}
}

// adopt begins to poll a subtree; tell says whether its files are news.
func (p *poller) adopt(path string, tell bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.trees[path] != nil {
		return
	}
	user := false
	for _, root := range p.w.o.Roots {
		user = user || root == path
	}
	p.trees[path] = &polled{path: path, user: user, tell: tell, folders: make(map[string]folder)}
	p.w.count.polled.Store(int64(len(p.trees)))
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// release ends the polling of exactly this subtree, and says whether there was any.
func (p *poller) release(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.trees[path] == nil {
		return false
	}
	delete(p.trees, path)
	p.w.count.polled.Store(int64(len(p.trees)))
	return true
}

func (p *poller) has(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trees[path] != nil
}

// begin sees what is there, and reports none of it.
func (p *poller) begin(ctx context.Context) error {
	p.pass(ctx)
	return ctx.Err()
}

func (p *poller) close() error { return nil }

// follow compares at each interval, and leaves four fifths of the time to others
// when a pass takes long.
func (p *poller) follow(ctx context.Context) error {
	timer := time.NewTimer(p.w.o.PollInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		case <-p.wake:
		}
		began := time.Now()
		p.pass(ctx)
		wait := max(p.w.o.PollInterval, 4*time.Since(began))
		p.hold = p.w.o.Settle + time.Since(began) + wait
		timer.Reset(wait)
	}
}

// pass compares every subtree once.
func (p *poller) pass(ctx context.Context) {
	p.mu.Lock()
	todo := make([]*polled, 0, len(p.trees))
	for _, t := range p.trees {
		todo = append(todo, t)
	}
	p.mu.Unlock()
	for _, t := range todo {
		p.compare(ctx, t)
		t.tell = true
	}
}

// compare reads one subtree and tells what differs.
func (p *poller) compare(ctx context.Context, t *polled) {
	info, err := look(t.path, true)
	switch {
	case absent(err):
		p.vanished(t)
		return
	case err != nil:
		p.fault(t.path, err)
		return
	}
	before := t.state
	t.state = stateOf(info)
	if !info.IsDir() {
		p.dropBelow(t, t.path, before.mode.IsDir())
		if before != t.state {
			p.touch(t, t.path, content)
		}
		return
	}
	if before.id != t.state.id && before.mode.IsDir() {
		// Another file system mounted here is not a removal.
		p.dropBelow(t, t.path, before.id.dev == t.state.id.dev)
	}
	stack, met := []string{t.path}, make(map[fileID]bool)
	for len(stack) > 0 && ctx.Err() == nil {
		path := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !p.w.o.Follow || first(path, met) {
			stack = p.folder(t, path, stack)
		}
	}
}

// first reports whether a directory is met for the first time in this pass:
// through links it may be met again, even inside itself.
func first(path string, met map[fileID]bool) bool {
	info, err := look(path, true)
	if err != nil {
		return true
	}
	id := identify(info)
	again := id != (fileID{}) && met[id]
	met[id] = true
	return !again
}

// vanished forgets a subtree that is not there. What was adopted is told of by
// the events of its parent.
func (p *poller) vanished(t *polled) {
	if !t.user {
		p.release(t.path)
		return
	}
	was := t.state
	t.state = fileState{}
	p.dropBelow(t, t.path, was.mode.IsDir())
	if was != (fileState{}) && !was.mode.IsDir() {
		p.touch(t, t.path, gone)
	}
}

// touch tells the pending set, unless the subtree is read for the first time. A
// removal is held for the least time any path is, so that it comes before what
// is found in its place, however long the passes are.
func (p *poller) touch(t *polled, path string, m mark) {
	if !t.tell {
		if m == content {
			info, err := look(path, p.w.o.Follow)
			p.w.known.put(path, err == nil && info.IsDir())
		}
		return
	}
	hold := p.hold
	if m&(gone|goneDir) != 0 {
		hold = p.w.o.Settle
	}
	p.w.pending.touch(path, m, hold)
}

// dropBelow forgets what was seen in a directory and below it.
func (p *poller) dropBelow(t *polled, path string, tell bool) {
	stack := []string{path}
	for len(stack) > 0 {
		dir := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for name, sum := range t.folders[dir].entries() {
			if sum.isDir() {
				stack = append(stack, join(dir, name))
			}
		}
		delete(t.folders, dir)
	}
	if tell {
		p.touch(t, path, goneDir)
	}
}

func (p *poller) fault(path string, err error) {
	if absent(err) {
		return
	}
	p.w.count.unreadable.Add(1)
	p.w.log.Debug("watch denied", "path", path, "error", err)
}
