package winnow

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"srpump/post"
)

// A change is what happens to a path at a source; two sources see it a tenth of a second apart.
type change struct {
	path, sum string
	at        float64
}

func drawChanges(t *rapid.T) []change {
	last := map[string]string{}
	var out []change
	for i := range rapid.IntRange(1, 25).Draw(t, "changes") {
		c := change{fmt.Sprint("p", rapid.IntRange(0, 1).Draw(t, "path")), rapid.SampledFrom([]string{"d,a", "d,b", "R,x"}).Draw(t, "sum"), float64(i)}
		if last[c.path] != c.sum {
			out = append(out, c)
			last[c.path] = c.sum
		}
	}
	return out
}

// Two sources, one of which may lag as it likes: every change passes exactly once.
func TestEveryChangePassesOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, err := Open(Options{TTL: time.Hour, Now: (&hand{epoch}).now})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		changes := drawChanges(t)
		passed := make([]int, len(changes))
		next := [2]int{}
		for next[0]+next[1] < 2*len(changes) {
			src := rapid.IntRange(0, 1).Draw(t, "source")
			if next[src] == len(changes) {
				src = 1 - src
			}
			i := next[src]
			next[src]++
			a := say(changes[i].path, changes[i].sum, "", changes[i].at+float64(src)/10)
			if v, tok := c.Offer(a); v == Fresh {
				passed[i]++
				if err := c.Commit(tok); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i, n := range passed {
			if n != 1 {
				t.Fatalf("change %d, %v, passed %d times: %v", i, changes[i], n, passed)
			}
		}
	})
}

// A work is one announcement on its way through a flow that fails now and then.
type work struct {
	a    *post.Announcement
	i    int // of the change
	tok  Token
	done bool
}

// A flow retries what failed unless its path was announced anew meanwhile.
type flow struct {
	c       *Cache
	held    []*work
	retry   []*work
	newest  map[string]int // change seen, by path
	arrived map[string]int // newest change committed, by path
}

func (f *flow) offer(w *work) {
	v, tok := f.c.Offer(w.a)
	w.tok = tok
	switch v {
	case Fresh:
		f.held = append(f.held, w)
	case Held:
		parked := f.c.Park(tok, func(promoted bool) {
			if w.done {
				panic("called twice")
			}
			w.done = !promoted
			if promoted {
				f.held = append(f.held, w)
			}
		})
		if !parked {
			panic("holder is gone")
		}
	}
}

func (f *flow) finish(t *rapid.T, at int, well bool) {
	w := f.held[at]
	f.held = append(f.held[:at:at], f.held[at+1:]...)
	if !well {
		f.c.Release(w.tok)
		if f.newest[w.a.Path] == w.i {
			f.retry = append(f.retry, w)
		}
		return
	}
	if err := f.c.Commit(w.tok); err != nil {
		t.Fatal(err)
	}
	f.arrived[w.a.Path] = max(f.arrived[w.a.Path], w.i)
}

// retries are the works that failed and were not superseded.
func (f *flow) retries() []*work {
	again := slices.DeleteFunc(f.retry, func(w *work) bool { return f.newest[w.a.Path] != w.i })
	f.retry = nil
	return again
}

// Whatever fails, and in whatever order: in the end the last state of every path arrived, nothing is held, and a restart knows the same.
func TestLastStateArrives(t *testing.T) {
	dirs := t.TempDir()
	var round atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		o := Options{TTL: time.Hour, Now: (&hand{epoch}).now}
		if n := round.Add(1); n%10 == 0 {
			o.Dir = fmt.Sprint(dirs, "/", n)
		}
		c, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		changes := drawChanges(t)
		f := &flow{c: c, newest: map[string]int{}, arrived: map[string]int{}}
		for i, ch := range changes {
			f.newest[ch.path] = i
			for src := range 2 {
				f.offer(&work{a: say(ch.path, ch.sum, "", ch.at+float64(src)/10), i: i})
			}
			for len(f.held) > 0 && rapid.Bool().Draw(t, "finish") {
				f.finish(t, rapid.IntRange(0, len(f.held)-1).Draw(t, "which"), rapid.Bool().Draw(t, "well"))
			}
		}
		for len(f.held)+len(f.retry) > 0 {
			for len(f.held) > 0 {
				f.finish(t, 0, true)
			}
			for _, w := range f.retries() {
				f.offer(w)
			}
		}
		check := func(c *Cache) {
			for p, i := range f.newest {
				if got := changes[f.arrived[p]]; got.path != p || got.sum != changes[i].sum {
					t.Fatalf("change %d, %v, is hidden by %v", i, changes[i], got)
				}
				if v, _ := c.Offer(say(changes[i].path, changes[i].sum, "", changes[i].at)); v != Duplicate {
					t.Fatalf("change %d, %v, is %v after all", i, changes[i], v)
				}
			}
			if len(c.lanes)+len(c.byKey) != 0 {
				t.Fatalf("left: %d lanes, %d keys", len(c.lanes), len(c.byKey))
			}
		}
		check(c)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if o.Dir == "" {
			return
		}
		if c, err = Open(o); err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		check(c)
	})
}

// Many goroutines with copies of the same few announcements, a third of which fails: each is
// committed exactly once, and every parked copy gets one answer.
func TestConcurrent(t *testing.T) {
	c, _ := open(t, Options{Dir: t.TempDir()})
	const keys, workers = 200, 8
	var commits [keys]atomic.Int64
	var answers, parked atomic.Int64
	var wg sync.WaitGroup
	var try func(i, n int)
	work := func(i, n int, tok Token) {
		if n%3 == 0 {
			c.Release(tok)
			try(i, n+1)
			return
		}
		commits[i].Add(1)
		if err := c.Commit(tok); err != nil {
			t.Error(err)
		}
	}
	try = func(i, n int) {
		for {
			v, tok := c.Offer(say(fmt.Sprint("p", i), "d,aa", "", 0))
			if v == Fresh {
				work(i, n, tok)
			}
			if v != Held {
				return
			}
			parked.Add(1)
			if c.Park(tok, func(promoted bool) {
				answers.Add(1)
				if promoted {
					work(i, n, tok)
				}
			}) {
				return
			}
			parked.Add(-1)
		}
	}
	for w := range workers {
		wg.Go(func() {
			for i := range keys {
				try(i, w+i)
			}
			if err := c.Sweep(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range commits {
		if n := commits[i].Load(); n != 1 {
			t.Errorf("key %d: %d commits", i, n)
		}
	}
	if answers.Load() != parked.Load() {
		t.Errorf("%d answers for %d parked", answers.Load(), parked.Load())
	}
}
