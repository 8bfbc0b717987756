package watch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// reportBatch is the most entries judged and handed over at once.
const reportBatch = 256

// report hands settled paths to emit until ctx ends or emit fails. While emit
// blocks, paths gather in the pending set. A batch that emit refused returns to
// the set, so that Pending names it.
func (w *Watcher) report(ctx context.Context, emit Emit) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		batch, wait := w.pending.take(reportBatch)
		if len(batch) > 0 {
			if err := w.hand(ctx, batch, emit); err != nil {
				return err
			}
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-w.pending.wake:
		}
	}
}

func (w *Watcher) hand(ctx context.Context, batch []*entry, emit Emit) error {
	events := make([]Event, 0, len(batch))
	for _, e := range batch {
		events = w.judge(e, events)
	}
	if len(events) == 0 {
		return nil
	}
	if err := emit(ctx, events); err != nil {
		for _, e := range batch {
			w.recent.forget(e.path)
			w.pending.giveBack(e, 0)
		}
		return err
	}
	w.count.reported.Add(int64(len(events)))
	return nil
}

// judge appends what is to be reported of a path, by what it is now.
func (w *Watcher) judge(e *entry, events []Event) []Event {
	if w.o.Skip != nil && w.o.Skip(e.path) {
		return events
	}
	info, err := look(e.path, w.o.Follow)
	now := time.Now()
	switch {
	case e.marks&goneDir != 0:
		w.recent.clear()
		if err == nil && !info.IsDir() {
			w.pending.touch(e.path, content, w.o.Settle)
		}
		return w.goneTree(e, w.goneFrom(e, events))
	case absent(err) && e.marks == attrib:
		return events // why it is gone comes after; if it was renamed, with its new name
	case absent(err) && w.known.holds(e.path):
		return w.goneTree(e, w.goneFrom(e, events))
	case absent(err):
		w.recent.forget(e.path)
		w.known.drop(e.path)
		return append(w.goneFrom(e, events), Event{Op: Removed, Path: e.path})
	case err != nil:
		w.count.errors.Add(1)
		w.log.Warn("watch cannot look", "path", e.path, "error", err)
		return events
	case info.IsDir():
		return w.directory(e, info, w.goneFrom(e, events))
	case !reportable(info.Mode()) || e.from == "" && w.recent.told(e.path, info, e.marks):
		return w.goneFrom(e, events)
	}
	if wait := w.young(e, info, now); wait > 0 {
		w.pending.giveBack(e, wait)
		return events
	}
	if w.known.holds(e.path) {
		events = w.goneBelow(e, events)
	}
	w.recent.remember(e.path, info, now)
	changed := Event{Op: Changed, Path: e.path, Info: info, Busy: w.pending.quietFor(e) < e.hold}
	changed.From = w.linked(e.path, info)
	w.known.put(e.path, false)
	if e.from != "" {
		return w.renamed(e, events, changed)
	}
	return append(events, changed)
}

// directory judges a path that is a directory now: if something else had that
// name before, that is gone.
func (w *Watcher) directory(e *entry, info fs.FileInfo, events []Event) []Event {
	if e.marks&gone != 0 || w.known.has(e.path, false) {
		w.recent.forget(e.path)
		w.known.drop(e.path)
		events = append(events, Event{Op: Removed, Path: e.path})
	}
	return w.made(e.path, info, events)
}

// made appends a directory that is news, where directories are.
func (w *Watcher) made(path string, info fs.FileInfo, events []Event) []Event {
	if w.o.Dirs && !w.known.has(path, true) {
		events = append(events, Event{Op: Changed, Path: path, Info: info})
	}
	w.known.put(path, true)
	return events
}

// goneFrom appends the removal of the name that what is no longer there had before.
func (w *Watcher) goneFrom(e *entry, events []Event) []Event {
	if e.from == "" {
		return events
	}
	if _, err := os.Lstat(e.from); !absent(err) {
		w.pending.touch(e.from, found, w.o.Settle)
		return events
	}
	w.known.drop(e.from)
	w.recent.forget(e.from)
	return append(events, Event{Op: Removed, Path: e.from})
}

// young is how long a file has yet to wait for MinAge. A modification time in
// the future, or a clock that was set back, cannot hold it longer than MinAge
// after its last event.
func (w *Watcher) young(e *entry, info fs.FileInfo, now time.Time) time.Duration {
	if w.o.MinAge <= 0 {
		return 0
	}
	byFile := w.o.MinAge - now.Sub(info.ModTime())
	byEvent := w.o.MinAge - w.pending.quietFor(e)
	return min(byFile, byEvent)
}

// absent reports whether a look failed because nothing bears the path.
func absent(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
