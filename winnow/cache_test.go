package winnow

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"srpump/partition"
	"srpump/post"
)

var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// hand is a clock moved by hand.
type hand struct{ t time.Time }

func (h *hand) now() time.Time { return h.t }

func open(t testing.TB, o Options) (*Cache, *hand) {
	t.Helper()
	h := &hand{epoch}
	if o.TTL == 0 {
		o.TTL = 20 * time.Minute
	}
	if o.Now == nil {
		o.Now = h.now
	}
	c, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, h
}

// say is an announcement: sum and parts as on the wire, announced at seconds after epoch.
func say(path, sum, parts string, at float64) *post.Announcement {
	a := &post.Announcement{Path: path, Base: "http://h/", Time: post.At(epoch.Add(time.Duration(at * float64(time.Second))))}
	if sum != "" {
		a.Sum, _ = post.ParseSum(sum)
	}
	if parts != "" {
		b, err := partition.Parse(parts)
		if err != nil {
			panic(err)
		}
		a.Block = b
	}
	return a
}

// pass offers a and commits it when it is fresh.
func pass(t testing.TB, c *Cache, a *post.Announcement) Verdict {
	t.Helper()
	v, tok := c.Offer(a)
	if v == Fresh {
		if err := c.Commit(tok); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// The vectors measured with the living Python peer, by basis.
func TestVectors(t *testing.T) {
	type step struct {
		path, sum, parts string
		want             Verdict
	}
	T, F := Fresh, Duplicate
	for name, tt := range map[string]struct {
		basis Basis
		steps []step
	}{
		"path": {Path, []step{
			{"/p", "d,aa", "1,12,1,0,0", T}, {"/q", "d,aa", "1,12,1,0,0", T}, {"/p", "d,aa", "1,13,1,0,0", T},
			{"/n", "n,bb", "1,12,1,0,0", T}, {"/n", "n,bb", "1,99,1,0,0", F},
			{"/r", "R,x", "", T}, {"/r", "R,x", "", F}}},
		"data": {Data, []step{
			{"/p", "d,aa", "1,12,1,0,0", T}, {"/q", "d,aa", "1,12,1,0,0", F}, {"/q", "d,aa", "1,13,1,0,0", T}}},
		"name": {Name, []step{
			{"/a/p", "d,aa", "1,12,1,0,0", T}, {"/b/p", "d,aa", "1,12,1,0,0", F}, {"/b/r", "d,aa", "1,12,1,0,0", T}}},
		"empty files are never merged": {Data, []step{
			{"/p", "d,d41d8cd98f00b204e9800998ecf8427e", "1,0,1,0,0", T}, {"/q", "d,d41d8cd98f00b204e9800998ecf8427e", "1,0,1,0,0", T},
			{"/p", "d,d41d8cd98f00b204e9800998ecf8427e", "", T}, {"/q", "d,d41d8cd98f00b204e9800998ecf8427e", "", T}}},
		"removals of equal names are never merged": {Data, []step{{"/a/p", "R,x", "", T}, {"/b/p", "R,x", "", T}, {"/b/p", "R,x", "", F}}},
		"names and links say nothing of bytes":     {Data, []step{{"/a/p", "n,x", "1,5,1,0,0", T}, {"/b/p", "n,x", "1,5,1,0,0", T}, {"/a/l", "L,y", "", T}, {"/b/l", "L,y", "", T}}},
		"no sum, no duplicate":                     {Path, []step{{"/p", "0,1234", "1,5,1,0,0", T}, {"/p", "0,1234", "1,5,1,0,0", T}, {"/p", "", "", T}, {"/p", "", "", T}}},
		"case of hexadecimal":                      {Path, []step{{"/p", "d,aa", "", T}, {"/p", "d,AA", "", F}, {"/a", "a,x", "", T}, {"/a", "a,X", "", T}}},
		"leading slash":                            {Path, []step{{"/p", "d,aa", "", T}, {"p", "d,aa", "", F}}},
	} {
		for _, mode := range []Mode{Many, One} {
			t.Run(fmt.Sprint(name, mode), func(t *testing.T) {
				c, _ := open(t, Options{Basis: tt.basis, Mode: mode})
				for i, s := range tt.steps {
					if got := pass(t, c, say(s.path, s.sum, s.parts, float64(i))); got != s.want {
						t.Errorf("step %d, %s of %s: %v, want %v", i, s.sum, s.path, got, s.want)
					}
				}
			})
		}
	}
}

// Equal blocks are duplicates within one version of one file alone: not under another number, path or way of
// cutting, and not of a later version, whose receivers need them all. Without mtime a posting is a version.
func TestBlocksBelongToOneVersion(t *testing.T) {
	for _, basis := range []Basis{Path, Name, Data} {
		for _, mode := range []Mode{Many, One} {
			c, _ := open(t, Options{Basis: basis, Mode: mode})
			for i, s := range []struct {
				path, parts string
				at          float64
				want        Verdict
			}{
				{"/d/p", "i,100,3,50,0", 1, Fresh}, {"/d/p", "i,100,3,50,1", 1, Fresh},
				{"/d/p", "i,100,3,50,0", 1, Duplicate}, {"/d/p", "i,100,3,50,1", 1, Duplicate},
				{"/e/p", "i,100,3,50,0", 1, Fresh},
				{"/d/p", "i,100,3,50,0", 2, Fresh}, {"/d/p", "i,100,3,50,1", 2, Fresh}, {"/d/p", "i,100,3,50,1", 2, Duplicate},
				{"/d/p", "i,100,4,50,0", 3, Fresh}, {"/d/p", "p,100,4,50,0", 4, Fresh},
			} {
				if got := pass(t, c, say(s.path, "d,aa", s.parts, s.at)); got != s.want {
					t.Errorf("basis %d mode %d step %d, %s of %s at %v: %v, want %v", basis, mode, i, s.parts, s.path, s.at, got, s.want)
				}
			}
		}
	}
}

// Of two sources that announce the same file side by side each block passes once, when both tell the
// time it was modified; else both are passed on whole.
func TestBlocksOfRacingSources(t *testing.T) {
	for _, mtime := range []string{"", "20260101000000"} {
		c, _ := open(t, Options{})
		for no := range 3 {
			for i, at := range []float64{2, 1, 2, 1} {
				want := Duplicate
				if i == 0 || i == 1 && mtime == "" {
					want = Fresh
				}
				a := say("p", "d,aa", fmt.Sprintf("i,100,3,50,%d", no), at)
				a.SetHeader(post.HeaderMtime, mtime)
				if v := pass(t, c, a); v != want {
					t.Errorf("mtime %q, block %d announced at %v, turn %d: %v", mtime, no, at, i, v)
				}
			}
		}
	}
}

// An edit in the middle is announced in all its blocks, of which none may be withheld.
func TestBlocksOfLaterVersion(t *testing.T) {
	c, _ := open(t, Options{})
	for v, mtime := range []string{"20260101000000", "20260101000001", "20260101000000"} {
		for no := range 3 {
			a := say("p", "d,aa", fmt.Sprintf("i,100,3,50,%d", no), float64(v))
			a.SetHeader(post.HeaderMtime, mtime)
			if got := pass(t, c, a); got != Fresh {
				t.Errorf("version %d, block %d: %v", v, no, got)
			}
		}
	}
}

func TestLaterSumTakesSizeAndMtime(t *testing.T) {
	c, _ := open(t, Options{})
	of := func(size, mtime string) *post.Announcement {
		a := say("p", "z,d", "1,"+size+",1,0,0", 0)
		a.SetHeader(post.HeaderMtime, mtime)
		return a
	}
	for i, s := range []struct {
		size, mtime string
		want        Verdict
	}{{"5", "20260101000000.0", Fresh}, {"5", "20260101000000.00", Duplicate}, {"6", "20260101000000.0", Fresh}, {"6", "20260101000001.0", Fresh}} {
		if got := pass(t, c, of(s.size, s.mtime)); got != s.want {
			t.Errorf("step %d: %v, want %v", i, got, s.want)
		}
	}
}

// What must arrive, must: d is sum or R, at is when it was announced, in the order of arrival.
func TestSequences(t *testing.T) {
	type step struct {
		sum  string
		at   float64
		want Verdict
	}
	T, F := Fresh, Duplicate
	for name, tt := range map[string]struct {
		modes []Mode
		steps []step
	}{
		"same again":          {[]Mode{Many, One}, []step{{"d,a", 1, T}, {"d,a", 2, F}}},
		"post delete post":    {[]Mode{Many, One}, []step{{"d,a", 1, T}, {"R,x", 2, T}, {"d,a", 3, T}, {"d,a", 3, F}}},
		"there and back":      {[]Mode{Many, One}, []step{{"d,a", 1, T}, {"d,b", 2, T}, {"d,a", 3, T}, {"d,b", 4, T}}},
		"delete twice":        {[]Mode{Many, One}, []step{{"R,x", 1, T}, {"d,a", 2, T}, {"R,x", 3, T}, {"R,x", 4, F}}},
		"a sum that says 0":   {[]Mode{Many, One}, []step{{"d,a", 1, T}, {"0,1", 2, T}, {"d,a", 3, T}}},
		"a link and back":     {[]Mode{Many, One}, []step{{"d,a", 1, T}, {"L,x", 2, T}, {"d,a", 3, T}}},
		"two sources, change": {[]Mode{Many}, []step{{"d,a", 1, T}, {"d,a", 1.1, F}, {"d,b", 2, T}, {"d,b", 2.1, F}, {"d,a", 3, T}, {"d,a", 3.1, F}}},
		"slow second source":  {[]Mode{Many}, []step{{"d,a", 1, T}, {"R,x", 2, T}, {"d,a", 3, T}, {"d,a", 1.1, F}, {"R,x", 2.1, F}, {"d,a", 3.1, F}}},
		"half a step behind":  {[]Mode{Many}, []step{{"d,a", 1, T}, {"R,x", 2, T}, {"d,a", 1.1, F}, {"d,a", 3, T}, {"R,x", 2.1, F}, {"d,a", 3.1, F}}},
		"late first sight":    {[]Mode{Many}, []step{{"d,b", 2, T}, {"d,a", 1, T}, {"d,a", 1.1, F}, {"d,b", 2.1, F}}},
		"a clock far ahead":   {[]Mode{Many}, []step{{"d,b", 1e8, T}, {"d,a", 1e8 + 1, T}, {"d,b", 2, F}, {"d,a", 2, F}}},
	} {
		for _, mode := range tt.modes {
			t.Run(fmt.Sprint(name, mode), func(t *testing.T) {
				c, h := open(t, Options{Mode: mode})
				for i, s := range tt.steps {
					h.t = h.t.Add(time.Second)
					if got := pass(t, c, say("dir/p", s.sum, "", s.at)); got != s.want {
						t.Errorf("step %d, %s: %v, want %v", i, s.sum, got, s.want)
					}
				}
			})
		}
	}
}

// The sequences again, while everything is still held: nothing is committed before the end.
func TestSequencesHeld(t *testing.T) {
	c, _ := open(t, Options{})
	var tokens []Token
	for i, s := range []struct {
		sum  string
		at   float64
		want Verdict
	}{{"d,a", 1, Fresh}, {"d,a", 1.1, Held}, {"d,b", 2, Fresh}, {"d,a", 1.2, Held}, {"d,a", 3, Fresh}, {"d,a", 3.1, Held}, {"R,x", 4, Fresh}, {"d,a", 5, Fresh}} {
		v, tok := c.Offer(say("p", s.sum, "", s.at))
		if v != s.want {
			t.Fatalf("step %d: %v, want %v", i, v, s.want)
		}
		if v == Fresh {
			tokens = append(tokens, tok)
		}
	}
	if err := c.CommitAll(tokens); err != nil {
		t.Fatal(err)
	}
	if v := pass(t, c, say("p", "d,a", "", 5.1)); v != Duplicate {
		t.Errorf("copy of the last: %v", v)
	}
	if len(c.lanes)+len(c.byKey) != 0 {
		t.Errorf("left: %d lanes, %d keys", len(c.lanes), len(c.byKey))
	}
}

func TestRenameClearsTheOldPath(t *testing.T) {
	for _, committed := range []bool{true, false} {
		c, _ := open(t, Options{})
		pass(t, c, say("old", "d,a", "", 1))
		moved := say("new", "d,a", "", 2)
		moved.SetHeader(post.HeaderOldname, "/old")
		v, tok := c.Offer(moved)
		if v != Fresh {
			t.Fatal(v)
		}
		if committed {
			if err := c.Commit(tok); err != nil {
				t.Fatal(err)
			}
		}
		if v := pass(t, c, say("old", "d,a", "", 3)); v != Fresh {
			t.Errorf("committed %v: old path again: %v", committed, v)
		}
		c.Close()
	}
}

func TestRemovalClearsAllBlocks(t *testing.T) {
	for _, between := range []*post.Announcement{say("p", "R,x", "", 2), say("p", "d,ff", "1,9,1,0,0", 2), say("p", "d,aa", "i,200,2,50,0", 2)} {
		for _, mode := range []Mode{Many, One} {
			c, h := open(t, Options{Mode: mode})
			for round := range 3 {
				h.t = h.t.Add(time.Second)
				if round == 1 {
					pass(t, c, between)
					h.t = h.t.Add(time.Second)
				}
				want := Fresh
				if round == 2 {
					want = Duplicate
				}
				for no := range 3 {
					if v := pass(t, c, say("p", "d,aa", fmt.Sprintf("i,100,3,50,%d", no), []float64{1, 3, 3}[round])); v != want {
						t.Errorf("mode %d, after %v, round %d block %d: %v", mode, between.Sum, round, no, v)
					}
				}
			}
			if v := pass(t, c, between); mode == One && v != Fresh {
				t.Errorf("%v after blocks: %v", between.Sum, v)
			}
		}
	}
}

func TestTimeToLive(t *testing.T) {
	c, h := open(t, Options{TTL: time.Minute})
	for i, s := range []struct {
		after time.Duration
		want  Verdict
	}{{0, Fresh}, {30 * time.Second, Duplicate}, {29 * time.Second, Duplicate}, {time.Second, Fresh}, {59 * time.Second, Duplicate}} {
		h.t = h.t.Add(s.after)
		if v := pass(t, c, say("p", "d,aa", "", 0)); v != s.want {
			t.Errorf("step %d: %v, want %v", i, v, s.want)
		}
	}
}

func TestClockSteps(t *testing.T) {
	c, h := open(t, Options{TTL: time.Minute})
	pass(t, c, say("p", "d,aa", "", 0))
	h.t = h.t.Add(-24 * time.Hour)
	if v := pass(t, c, say("p", "d,aa", "", 0)); v != Duplicate {
		t.Errorf("after a step back: %v", v)
	}
	h.t = h.t.Add(61 * time.Second)
	if v := pass(t, c, say("p", "d,aa", "", 0)); v != Fresh {
		t.Errorf("a minute later: %v, want fresh", v)
	}
}

func TestSweep(t *testing.T) {
	c, h := open(t, Options{TTL: time.Minute, Dir: t.TempDir()})
	for i := range 5000 {
		pass(t, c, say(fmt.Sprint("p", i), "d,aa", "", 0))
	}
	h.t = h.t.Add(59 * time.Second)
	pass(t, c, say("q", "d,aa", "", 0))
	h.t = h.t.Add(time.Second)
	if err := c.Sweep(); err != nil {
		t.Fatal(err)
	}
	if n := c.Len(); n != 1 {
		t.Errorf("%d marks left, want 1", n)
	}
	if v := pass(t, c, say("q", "d,aa", "", 0)); v != Duplicate {
		t.Errorf("the young one: %v", v)
	}
	if len(c.log.old) != 0 {
		t.Errorf("segments left: %+v", c.log.old)
	}
}

func TestHeldParkedPromoted(t *testing.T) {
	c, _ := open(t, Options{})
	var said []string
	park := func(name string, at float64) Token {
		v, tok := c.Offer(say("p", "d,aa", "", at))
		if v != Held || !c.Park(tok, func(promoted bool) { said = append(said, fmt.Sprint(name, " ", promoted)) }) {
			t.Fatalf("%s: %v", name, v)
		}
		return tok
	}
	v, first := c.Offer(say("p", "d,aa", "", 1))
	if v != Fresh {
		t.Fatal(v)
	}
	second, third := park("second", 2), park("third", 3)
	forgotten := park("forgotten", 3)
	park("fourth", 4)
	c.Release(forgotten)
	c.Release(first)
	if err := c.Commit(third); !errors.Is(err, ErrNotHeld) {
		t.Errorf("commit of a parked one: %v", err)
	}
	c.Release(second)
	if err := c.Commit(third); err != nil {
		t.Fatal(err)
	}
	if want := []string{"second true", "third true", "fourth false"}; !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
	if err := c.Commit(third); !errors.Is(err, ErrNotHeld) {
		t.Errorf("second commit: %v", err)
	}
	if v := pass(t, c, say("p", "d,aa", "", 5)); v != Duplicate {
		t.Errorf("after all: %v", v)
	}
}

// Two sources of which the faster fails: the slower one's copy is the one that arrives.
func TestFasterSourceFails(t *testing.T) {
	c, _ := open(t, Options{})
	_, fast := c.Offer(say("p", "d,aa", "", 1))
	v, slow := c.Offer(say("p", "d,aa", "", 1.5))
	c.Release(fast)
	if v != Held || c.Park(slow, func(bool) { t.Error("called") }) {
		t.Fatalf("%v, and parked with a holder that is gone", v)
	}
	v, slow = c.Offer(say("p", "d,aa", "", 1.5))
	if v != Fresh {
		t.Fatal(v)
	}
	if err := c.Commit(slow); err != nil {
		t.Fatal(err)
	}
	if v := pass(t, c, say("p", "d,aa", "", 1)); v != Duplicate {
		t.Errorf("retry of the faster: %v", v)
	}
}

func TestEqualSumsAreNoticed(t *testing.T) {
	c, _ := open(t, Options{})
	for _, p := range []string{"a", "b", "a"} {
		pass(t, c, say(p, "d,aa", "1,5,1,0,0", 0))
		pass(t, c, say(p, "d,d41d8cd98f00b204e9800998ecf8427e", "1,0,1,0,0", 0))
	}
	if n := c.Stats().EqualSums; n != 2 {
		t.Errorf("EqualSums %d, want 2", n)
	}
}
