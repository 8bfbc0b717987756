package pump

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Work on one path runs in arrival order; work on others does not wait; a
// directory's removal waits for what is below and holds up what comes after.
func TestOrder(t *testing.T) {
	o := newOrder()
	var log []string
	enter := func(name string, paths ...string) *turn {
		t := &turn{run: func() { log = append(log, name) }}
		for i := range paths {
			paths[i] = "/d/" + paths[i]
		}
		o.enter(t, paths...)
		return t
	}
	a1 := enter("a1", "x/a")
	a2 := enter("a2", "x/a")
	b := enter("b", "x/b")
	rm := enter("rm", "x")
	c := enter("c", "x/c")
	y := enter("y", "y/a")
	want := func(w string) {
		t.Helper()
		if got := strings.Join(log, " "); got != w {
			t.Fatalf("ran %q, want %q", got, w)
		}
	}
	want("a1 b y")
	o.leave(a1)
	want("a1 b y a2")
	o.leave(b)
	o.leave(a2)
	want("a1 b y a2 rm")
	o.leave(rm)
	want("a1 b y a2 rm c")
	o.leave(c)
	o.leave(y)
	if len(o.lanes) != 0 {
		t.Errorf("%d lanes left", len(o.lanes))
	}
}

// Whatever touches whatever: no two conflicting pieces run at once, conflicting ones run in
// arrival order, and everything runs.
func TestOrderProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newOrder()
		paths := []string{"/a", "/a/b", "/a/b/c", "/a/b/d", "/e", "/e/f", "/a/g"}
		type piece struct {
			n     int
			paths []string
		}
		var all, running []piece
		turns := map[int]*turn{}
		started, done := map[int]bool{}, map[int]bool{}
		begin := func(p piece) {
			for _, r := range running {
				if conflict(r.paths, p.paths) {
					t.Fatalf("%v runs beside %v", p, r)
				}
			}
			for _, q := range all[:p.n] {
				if conflict(q.paths, p.paths) && !done[q.n] {
					t.Fatalf("%v ran before %v", p, q)
				}
			}
			started[p.n] = true
			running = append(running, p)
		}
		finish := func() {
			i := rapid.IntRange(0, len(running)-1).Draw(t, "which")
			p := running[i]
			running = slices.Delete(running, i, i+1)
			done[p.n] = true
			o.leave(turns[p.n])
		}
		n := rapid.IntRange(1, 30).Draw(t, "n")
		for i := range n {
			p := piece{i, rapid.SliceOfNDistinct(rapid.SampledFrom(paths), 1, 2, rapid.ID[string]).Draw(t, "paths")}
			all = append(all, p)
			turns[i] = &turn{run: func() { begin(p) }}
			o.enter(turns[i], p.paths...)
			for len(running) > 0 && rapid.Bool().Draw(t, "finish") {
				finish()
			}
		}
		for len(running) > 0 {
			finish()
		}
		if len(started) != n || len(o.lanes) != 0 {
			t.Fatalf("%d of %d ran, %d lanes left", len(started), n, len(o.lanes))
		}
	})
}

// conflict: a path in common, or one above the other.
func conflict(p, q []string) bool {
	return slices.ContainsFunc(p, func(x string) bool {
		return slices.ContainsFunc(q, func(y string) bool {
			return x == y || strings.HasPrefix(x, y+"/") || strings.HasPrefix(y, x+"/")
		})
	})
}

// Nothing older than what a path has goes over it; what failed does not count.
func TestReceived(t *testing.T) {
	o := newOrder()
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	if o.has("/d/x", at(4)) {
		t.Error("a path nothing was put at")
	}
	o.note("/d/x", at(5))
	for s, want := range map[int64]bool{4: true, 5: false, 6: false} {
		if got := o.has("/d/x", at(s)); got != want {
			t.Errorf("at %d: %v", s, got)
		}
	}
	for i := range 3 * recentHalf {
		o.note(fmt.Sprint(i), at(1))
	}
	if n := len(o.received.young) + len(o.received.old); n > 2*recentHalf {
		t.Errorf("%d paths remembered", n)
	}
}

// Blocks of one version share their path; whatever else is of it waits for them, and they for it.
func TestOrderShared(t *testing.T) {
	o := newOrder()
	var log []string
	enter := func(name, with string) *turn {
		t := &turn{run: func() { log = append(log, name) }, with: with}
		o.enter(t, "/d/x")
		return t
	}
	a1, a2 := enter("a1", "v1"), enter("a2", "v1")
	rm := enter("rm", "")
	a3 := enter("a3", "v1")
	b1, b2 := enter("b1", "v2"), enter("b2", "v2")
	want := func(w string) {
		t.Helper()
		if got := strings.Join(log, " "); got != w {
			t.Fatalf("ran %q, want %q", got, w)
		}
	}
	want("a1 a2")
	o.leave(a1)
	want("a1 a2")
	o.leave(a2)
	want("a1 a2 rm")
	o.leave(rm)
	want("a1 a2 rm a3")
	o.leave(a3)
	want("a1 a2 rm a3 b1 b2")
	if o.tryEnter(&turn{}, "/d/x") {
		t.Error("entered beside blocks")
	}
	o.leave(b1)
	o.leave(b2)
	if len(o.lanes) != 0 {
		t.Errorf("%d lanes left", len(o.lanes))
	}
}

// Who would rather not wait has a path only when nobody works on it, above it or below it,
// or waits to; then others wait as for anybody.
func TestTryEnter(t *testing.T) {
	o := newOrder()
	a, rm, beside := &turn{run: func() {}}, &turn{run: func() {}}, &turn{run: func() {}}
	try := func(path string) bool {
		mine := &turn{run: func() { t.Error("run called") }}
		if !o.tryEnter(mine, path) {
			return false
		}
		o.leave(mine)
		return true
	}
	o.enter(a, "/d/x/a")
	if try("/d/x/a") || try("/d/x") || try("/d/x/a/below") || !try("/d/x/b") || !try("/d/y") {
		t.Error("wrong beside work on a file")
	}
	o.enter(rm, "/d/x")
	if try("/d/x/b") || !try("/d/y") {
		t.Error("overtook a removal that waits")
	}
	o.leave(a)
	o.leave(rm)
	mine := &turn{}
	if !o.tryEnter(mine, "/d/x") {
		t.Fatal("a free path refused")
	}
	began := false
	beside.run = func() { began = true }
	o.enter(beside, "/d/x/c")
	if began {
		t.Error("began below a path that is taken")
	}
	o.leave(mine)
	o.leave(beside)
	if !began || len(o.lanes) != 0 {
		t.Errorf("began %v, %d lanes left", began, len(o.lanes))
	}
}
