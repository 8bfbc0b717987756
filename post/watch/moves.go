package watch

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// cameFrom is the old path of what was renamed to that of the event, or "". The library keeps it to
// itself but for people, to whom it shows both paths quoted.
func cameFrom(ev fsnotify.Event) string {
	if !ev.Has(fsnotify.Create) {
		return ""
	}
	_, quoted, ok := strings.Cut(ev.String(), ` ← "`)
	if !ok {
		return ""
	}
	from, err := strconv.Unquote(`"` + quoted)
	if err != nil {
		return ""
	}
	if strings.HasPrefix(from, "//") {
		from = from[1:]
	}
	return from
}

// movedHere looks into a rename within what is watched.
func (n *notifier) movedHere(ctx context.Context, from, to string, isDir bool) {
	if !isDir {
		n.w.pending.move(from, to, n.w.o.Settle)
		return
	}
	begun := n.w.pending.hold(from)
	n.w.pending.restless(from, to, n.w.o.Settle)
	v := visit{path: to, parent: n.parent(to), mode: all}
	if !begun {
		n.explore(ctx, v)
		return
	}
	v.from, v.spared = from, new([]string)
	n.explore(ctx, v)
	n.w.pending.movedDir(from, to, *v.spared)
}

// goneTree appends what is to be reported of a directory that is gone: of all that was known below it,
// and then of itself, unless there is another one by now. What is below its new name
// unchanged is reported as moved, what is there again under the old one anew.
func (w *Watcher) goneTree(e *entry, events []Event) []Event {
	events = w.goneBelow(e, events)
	info, err := look(e.path, w.o.Follow)
	if err == nil && info.IsDir() {
		return w.directory(e, info, events)
	}
	w.known.drop(e.path)
	gone := Event{Op: Removed, Path: e.path, Dir: true}
	if info, err := look(e.to, w.o.Follow); e.to != "" && err == nil && info.IsDir() {
		gone.To = e.to
	}
	return append(events, gone)
}

// goneBelow appends what is to be reported of what was known below a path. What was met at its new
// place and thought to be known, and was not, is looked at by itself.
func (w *Watcher) goneBelow(e *entry, events []Event) []Event {
	judged := make(map[string]bool)
	for _, n := range w.known.below(e.path) {
		gone, to := Event{Op: Removed, Path: n.path, Dir: n.dir}, ""
		if e.to != "" {
			to = e.to + strings.TrimPrefix(n.path, e.path)
		}
		if _, err := os.Lstat(n.path); err == nil { // in a new directory of that name
			w.pending.touch(n.path, found, w.o.Settle)
		}
		w.known.drop(n.path)
		w.recent.forget(n.path)
		if to == "" {
			events = append(events, gone)
			continue
		}
		judged[to] = true
		gone.To = to
		events = w.arrived(&gone, events)
	}
	for _, path := range e.spared {
		if !judged[path] {
			w.pending.touch(path, found, w.o.Settle)
		}
	}
	return events
}

// arrived appends a removal and, where what was removed is found under its new name and nothing
// is pending there, what became of that.
func (w *Watcher) arrived(gone *Event, events []Event) []Event {
	to := gone.To
	info, err := look(to, w.o.Follow)
	if err != nil || info.IsDir() != gone.Dir {
		gone.To = ""
		return append(events, *gone)
	}
	if gone.Dir {
		return append(w.made(to, info, events), *gone)
	}
	if w.pending.has(to) || !reportable(info.Mode()) || w.o.MinAge > 0 && time.Since(info.ModTime()) < w.o.MinAge {
		gone.To = ""
		w.pending.touch(to, found, w.o.Settle)
		return append(events, *gone)
	}
	w.linked(to, info)
	w.known.put(to, false)
	w.recent.remember(to, info, time.Now())
	return append(events, *gone, Event{Op: Changed, Path: to, Info: info, From: gone.Path})
}

// renamed appends a file that has a new name: first what became of the old one.
func (w *Watcher) renamed(e *entry, events []Event, changed Event) []Event {
	if _, err := os.Lstat(e.from); !absent(err) {
		w.pending.touch(e.from, found, w.o.Settle) // something else is there by now
		return append(events, changed)
	}
	w.known.drop(e.from)
	w.recent.forget(e.from)
	changed.From = e.from
	return append(events, Event{Op: Removed, Path: e.from, To: e.path}, changed)
}

// move notes that from, which was let go just now, is called to. Only of what was not written since it
// was reported that says what it holds.
func (p *pending) move(from, to string, hold time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.byPath[from]
	clean := old != nil && old.marks&(content|found|goneDir) == 0
	e := p.note(to, content, hold)
	p.part(e)
	if e.marks&(gone|goneDir) != 0 || !clean {
		return
	}
	e.marks |= renamed
	e.from = from
	if old.from != "" {
		// It had come from elsewhere, and had not been reported under the name between.
		e.from, old.from = old.from, ""
		return
	}
	p.void(old)
}

// void takes an entry out of the set without its being reported.
func (p *pending) void(e *entry) {
	e.void = true
	delete(p.byPath, e.path)
}

// hold keeps the entry of a directory that is gone, while its new place is read. It reports
// whether there is one, and not of an earlier directory that went elsewhere.
func (p *pending) hold(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.byPath[path]
	if e == nil || e.marks&goneDir == 0 || e.held || e.to != "" {
		return false
	}
	e.held = true
	return true
}

// movedDir lets the entry of a directory go that was held: its new place is watched and read. What
// was met there and not noted, being known from the old place, is spared.
func (p *pending) movedDir(from, to string, spared []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.byPath[from]
	e.held, e.to, e.spared, e.last = false, to, spared, time.Since(p.start)
}

// restless notes for a directory that was moved what was pending in it: that is not the same as what
// was last reported.
func (p *pending) restless(from, to string, hold time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var below []string
	for path, e := range p.byPath {
		if strings.HasPrefix(path, from+"/") && e.marks&(content|found|attrib|renamed) != 0 {
			below = append(below, path[len(from):])
		}
	}
	for _, rest := range below {
		p.note(to+rest, content, hold)
	}
}

func (p *pending) has(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byPath[path] != nil
}

// part ends what is known of where e comes from: the old path is judged by itself.
func (p *pending) part(e *entry) {
	if from := e.from; from != "" {
		e.from = ""
		p.note(from, gone, e.hold)
	}
}
