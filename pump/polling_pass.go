package pump

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"srpump/pump/poll"
)

// Bounds of one pass: a server whose links lead in circles ends it, loudly.
const (
	maxPolled = 100_000 // directories
	maxDepth  = 64      // below a configured one
)

// pass looks at every directory once. One that fails does not keep the others from it.
func (q *poller) pass(ctx context.Context) {
	post := q.vip == "" || HoldsAddress(q.vip)
	q.sayVIP(post)
	if !post && !q.cfg.Values.Bool("poll_without_vip") {
		return
	}
	before := q.Counters.Announced.Load()
	own := make(map[string]bool)
	for _, d := range q.dirs {
		own[d.today(q.host)] = true
	}
	q.pages = 0
	t := tour{poller: q, own: own, seen: make(map[string]bool), silent: !post}
	for _, d := range q.dirs {
		t.tree(ctx, d.today(q.host), d.rules)
	}
	if ctx.Err() != nil {
		return
	}
	if t.odd > 0 {
		q.host.Log.Info("names passed over", "count", t.odd, "first", t.firstOdd)
	}
	if t.whole {
		q.prune(t.seen)
	}
	q.host.Log.Debug("polled", "directories", len(t.seen), "announced", q.Counters.Announced.Load()-before)
}

// sayVIP says once that another host has the address, and once that it is here again.
func (q *poller) sayVIP(here bool) {
	if q.waiting != here {
		return
	}
	q.waiting = !here
	if here {
		q.host.Log.Info("in charge", "address", q.vip)
		return
	}
	q.host.Log.Info("standing by", "address", q.vip)
}

// A tour is one pass under way.
type tour struct {
	*poller
	own    map[string]bool // configured directories, which have rules of their own
	seen   map[string]bool // whose listing is remembered
	silent bool            // standing by: remember, and announce nothing
	whole  bool            // something was listed, and so far all of it
	broken bool

	odd      int    // names passed over because no announcement may hold them
	firstOdd string // the first, quoted
}

// A stop is a directory still to be looked at.
type stop struct {
	dir   string
	depth int
}

// tree looks at a directory and all below it.
func (t *tour) tree(ctx context.Context, root string, rules *Rules) {
	todo := []stop{{dir: root}}
	for len(todo) > 0 && ctx.Err() == nil {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if t.seen[at.dir] {
			continue
		}
		if t.pages >= maxPolled || at.depth > maxDepth {
			t.circle(at)
			continue
		}
		t.pages++
		t.seen[at.dir] = true
		for _, sub := range t.directory(ctx, at.dir, rules) {
			if below := path.Join(at.dir, sub); !t.own[below] {
				todo = append(todo, stop{below, at.depth + 1})
			}
		}
		t.whole = !t.broken
	}
}

// circle says once that there is no end to the directories.
func (t *tour) circle(at stop) {
	t.whole = false
	if !t.broken {
		t.host.Log.Warn("not all directories listed", "directory", at.dir, "listed", t.pages, "depth", at.depth,
			"hint", "too many or too deep, perhaps a circle: name the ones wanted with directory lines")
	}
	t.broken = true
}

// directory lists one directory, announces what is new in it and remembers it. It returns
// the directories in it. What was announced and not remembered, for a crash or an error, is
// announced again, unless the cache still knows it.
func (t *tour) directory(ctx context.Context, dir string, rules *Rules) (subs []string) {
	old := t.recall(dir)
	now, err := t.look(ctx, dir, old, rules)
	if err != nil {
		t.outage(ctx, dir, err)
		return nil
	}
	if t.down[dir] {
		delete(t.down, dir)
		t.host.Log.Info("listed again", "directory", dir)
	}
	for _, f := range now.fresh {
		if !t.announceFound(ctx, dir, f) {
			delete(now.files, f.Name)
		}
	}
	if ctx.Err() != nil || t.owed.wait(ctx) != nil {
		return nil
	}
	t.forgetGone(dir, old, now)
	t.keep(dir, old, now)
	return slices.Sorted(maps.Keys(now.subs))
}

// outage says once that a directory cannot be listed; it is tried at every pass.
func (t *tour) outage(ctx context.Context, dir string, err error) {
	t.broken, t.whole = true, false
	if ctx.Err() != nil {
		return
	}
	if t.every == 0 {
		t.Counters.Failed.Add(1)
	}
	if t.down[dir] {
		t.host.Log.Debug("still not listed", "directory", dir, "error", err)
		return
	}
	t.down[dir] = true
	t.host.Log.Warn("not listed", "directory", dir, "error", err)
}

// A found is a file to announce, and what its rule says.
type found struct {
	poll.Entry
	choice Choice
}

// look lists a directory and compares it with what is remembered of it.
func (t *tour) look(ctx context.Context, dir string, old listing, rules *Rules) (listing, error) {
	now := newListing()
	at := t.host.Now()
	skipped, err := t.from.List(ctx, dir, poll.Options{Now: at, Zone: t.zone, NameColumn: max(0, t.cfg.Values.Int("ls_file_index"))}, func(e poll.Entry) error {
		if e.Dir {
			now.subs[e.Name] = true
			return nil
		}
		choice, err := rules.choose(e.Name)
		if err != nil {
			t.failed(path.Join(dir, e.Name), err)
			return nil
		}
		was, known := old.files[e.Name]
		if !choice.Accept {
			t.rejected(path.Join(dir, e.Name), choice)
			return nil
		}
		if !known && !t.eligible(e, at) {
			return nil
		}
		now.file(t.judge(e, was, known, at), choice)
		return nil
	})
	if t.odd += skipped.Names; t.firstOdd == "" {
		t.firstOdd = skipped.FirstName
	}
	if err == nil && skipped.Any() && !t.down[dir] {
		t.host.Log.Debug("listing has more than names", "directory", dir, "unknown", skipped.Unknown, "refused", skipped.Refused, "first", skipped.First)
	}
	return now, err
}

func (t *tour) rejected(at string, c Choice) {
	t.Counters.Rejected.Add(1)
	if t.cfg.Values.Bool("log_reject") {
		t.host.Log.Info("rejected", "path", at, "rule", c.Line, oldLine(rejectedLine{at, c.Line}))
	}
}

// eligible leaves what is too old or young, what may not be read, and links whose end cannot
// be seen from here.
func (t *tour) eligible(e poll.Entry, now time.Time) bool {
	age := now.Sub(e.ModTime)
	switch {
	case e.Link != "" && t.here == nil && !t.cfg.Values.Bool("follow_symlinks"):
		return false
	case e.PermKnown && e.Mode&fs.FileMode(t.mask) != fs.FileMode(t.mask):
		return false
	case e.ModTime.IsZero():
		return true
	}
	return age >= t.minAge && (t.oldest <= 0 || age <= t.oldest)
}

// judge tells what has to be announced: what is new or has changed, but not while it may
// still be growing. A file written less than one sleep ago waits until it looks the same
// in two passes. Where a listing tells the minute, it may have been written at the end of that.
func (t *tour) judge(e poll.Entry, was record, known bool, now time.Time) record {
	same := known && e.Same(was.Entry)
	if same {
		e = e.Finer(was.Entry)
	}
	if same && !was.waits && was.stood == 0 {
		return record{Entry: e}
	}
	written := e.ModTime.Add(min(e.Precision, time.Minute)) // at the latest
	if t.every > 0 && !e.ModTime.IsZero() && !same && now.Sub(written) < t.every {
		return record{Entry: e, waits: true}
	}
	if !t.silent {
		return record{Entry: e, fresh: true}
	}
	if !same {
		was.stood = 0
	}
	if was.stood < standing {
		return record{Entry: e, stood: was.stood + 1}
	}
	return record{Entry: e}
}

// standing is for how many passes a standby remembers that it should announce a file, should it come
// into charge: the host that has been may have failed just before it did so.
const standing = 2
