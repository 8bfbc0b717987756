package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"srpump/pipeline/sfm/harvest"
)

// A list is what an API gives newest first, page below page. Its mark, the newest there was when
// a walk came to the end, moves only then: it says that all below was harvested. On the way a
// window keeps where the walk is.
type list struct {
	key         string
	incremental bool
	number      bool // the mark is kept as a number, as SFM's harvester does
	page        func(ctx context.Context, cursor, since string) (page, error)
}

// A page is one answer of a list.
type page struct {
	marks []string // of what is on it; without what is pinned, which stands there out of order
	next  string   // cursor of the page below; "" at the end
}

// add adds a mark; "" is none.
func (p *page) add(mark string) {
	if mark != "" {
		p.marks = append(p.marks, mark)
	}
}

// errRefused is a cursor the API no longer takes.
var errRefused = errors.New("the API refuses the cursor")

// maxEmpty is how many pages with nothing on them, one after the other, are believed in.
const maxEmpty = 50

// walk goes down to the mark. A walk that takes up another's window began in the midst: it is
// followed by one from the top, for what came since the first began.
func (l list) walk(ctx context.Context, w *harvest.Walk) error {
	if !l.incremental { // nobody else's window, and no mark
		l.key += "@" + w.Start().ID
	}
	for since := l.since(w); ; {
		win := w.Window(l.key)
		if !win.Open {
			win = harvest.Window{Since: since, Open: true}
		}
		top, whole, err := l.down(ctx, w, win)
		if err != nil || whole {
			return err
		}
		since = top
	}
}

// down is one walk; it returns the newest mark of it, and whether it began at the top.
func (l list) down(ctx context.Context, w *harvest.Walk, win harvest.Window) (top string, whole bool, err error) {
	seen, whole := trail{}, win.Cursor == ""
	for {
		p, err := l.page(ctx, win.Cursor, win.Since)
		if errors.Is(err, errRefused) && !whole {
			w.Log().Info("harvest walks again from the top", "harvest", w.Start().ID, "key", l.key)
			win.Cursor, whole, seen = "", true, trail{}
			continue
		}
		if err != nil {
			return "", whole, err
		}
		top, old := span(p.marks, win.Since)
		if above(top, win.Top) {
			win.Top = top
		}
		if p.next == "" || old {
			l.end(w, win)
			return win.Top, whole, nil
		}
		if err := seen.step(p); err != nil {
			return "", whole, err
		}
		win.Cursor = p.next
		w.KeepWindow(l.key, win)
		if err := w.Next(ctx); err != nil {
			return "", whole, err
		}
	}
}

// since is the mark an earlier harvest left, this program's or SFM's own.
func (l list) since(w *harvest.Walk) string {
	var mark json.RawMessage
	if !l.incremental || !w.State(l.key, &mark) {
		return ""
	}
	return strings.Trim(string(mark), `"`)
}

// end closes the window: all up to its top is harvested.
func (l list) end(w *harvest.Walk, win harvest.Window) {
	w.KeepWindow(l.key, harvest.Window{})
	if l.incremental && above(win.Top, win.Since) {
		w.Keep(l.key, l.form(win.Top))
	}
}

// form is how a mark is kept.
func (l list) form(mark string) any {
	if l.number {
		return json.Number(mark)
	}
	return mark
}

// span is the newest of marks, and whether the lower half of them is at or below since. Less would
// not do: a post that waited in a queue has an old id and stands among new ones.
func span(marks []string, since string) (top string, old bool) {
	old = len(marks) > 0
	for i, m := range marks {
		if above(m, top) {
			top = m
		}
		if i >= len(marks)/2 && above(m, since) {
			old = false
		}
	}
	return top, old
}

// above tells whether a mark is newer than another: a longer number is, and of two of one length
// the one with the higher digit; times of one form compare in the same way. "" is below all.
func above(a, b string) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return strings.Compare(a, b) > 0
}

// A trail finds out that a walk goes in circles.
type trail struct {
	cursors map[string]struct{}
	last    string // the marks of the page before
	empty   int
}

// step notes a page that has one below it.
func (t *trail) step(p page) error {
	if t.cursors == nil {
		t.cursors = make(map[string]struct{})
	}
	if _, ok := t.cursors[p.next]; ok {
		return fmt.Errorf("cannot walk the pages to their end: the page %q comes again", p.next)
	}
	t.cursors[p.next] = struct{}{}
	if len(p.marks) == 0 {
		if t.empty++; t.empty == maxEmpty {
			return errors.New("cannot walk the pages to their end: there is nothing on them")
		}
		return nil
	}
	marks := strings.Join(p.marks, " ")
	if marks == t.last {
		return errors.New("cannot walk the pages to their end: each is the one before")
	}
	t.last, t.empty = marks, 0
	return nil
}
