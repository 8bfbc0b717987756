package pump

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"srpump/pump/config"
)

// TestFreeLeast reads the option min_free.
func TestFreeLeast(t *testing.T) {
	for s, want := range map[string]int64{"0": 0, "10k": 10240, "5%": 50, "2.5%": 25} {
		if l, err := config.ParseFreeSpace(s); err != nil || l.Of(1000) != want {
			t.Errorf("%s of 1000 is %d, %v; want %d", s, l.Of(1000), err, want)
		}
	}
	for _, s := range []string{"", "%", "x", "-1", "100%", "-5%", "NaN%", "5%%"} {
		if l, err := config.ParseFreeSpace(s); err == nil {
			t.Errorf("%q is %+v", s, l)
		}
	}
}

// roomOf is a room whose filesystem has 1000 bytes, so many of them free, and 100 to leave.
func roomOf(free *int64) *room {
	least, err := config.ParseFreeSpace("10%")
	if err != nil {
		panic(err)
	}
	r := newRoom(least, 2)
	r.look = func(string) (space, error) { return space{free: *free, total: 1000}, nil }
	return r
}

// What running fetches have yet to bring counts, what they have brought does not count twice, and what waited is
// given back once there is room.
func TestRoom(t *testing.T) {
	free := int64(1000)
	r := roomOf(&free)
	enter := func(size int64) (*ongoing, bool) {
		o := &ongoing{path: fmt.Sprint(size), size: size}
		in, _, err := r.enter(context.Background(), &job{}, "d", o)
		if err != nil {
			t.Fatal(err)
		}
		return o, in
	}
	first, in := enter(600)
	if !in {
		t.Fatal("no room for the first")
	}
	if _, in := enter(301); in || !r.paused() {
		t.Error("room for more than the first leaves")
	}
	taken := func() bool { // whether more is taken in
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return r.pass(ctx) == nil
	}
	if !taken() {
		t.Error("removals cannot make room")
	}
	if _, in := enter(1); in {
		t.Error("begun though paused")
	}
	if taken() {
		t.Error("as many as may be in hand wait, and more is taken in")
	}
	if _, yes := r.reopen(); yes {
		t.Error("reopened without more room")
	}
	first.here.Store(600)
	free = 401
	if waited, yes := r.reopen(); !yes || len(waited) != 2 || r.paused() {
		t.Errorf("not reopened: %v", waited)
	}
	if !taken() {
		t.Error("reopened, and nothing is taken in")
	}
	r.leave(first)
	if _, _, err := r.enter(t.Context(), &job{}, "d", &ongoing{size: 901}); !errors.Is(err, errNeverFits) {
		t.Errorf("what never fits: %v", err)
	}
}

// What was written since is gone from what is free, however short ago that was looked at.
func TestRoomIsWhatIsFreeNow(t *testing.T) {
	free := int64(500)
	r := roomOf(&free)
	enter := func(path string, size int64, whole int64, rest func() int64) bool {
		in, _, err := r.enter(t.Context(), &job{}, "d", &ongoing{path: path, size: size, whole: whole, rest: rest})
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	left := int64(300)
	rest := func() int64 { return left }
	first, second := enter("blocks", 100, 300, rest), enter("blocks", 100, 300, rest)
	if !first || !second {
		t.Fatal("blocks of one file do not share its room")
	}
	free, left = 400, 200
	if enter("other", 101, 0, nil) {
		t.Error("room for another file beside the rest of the first")
	}
	free, left = 401, 200
	if _, yes := r.reopen(); !yes || !enter("other", 101, 0, nil) {
		t.Error("no room for it when there is enough")
	}
	if free, left = 300, 0; enter("third", 100, 0, nil) {
		t.Error("what the others wrote is not seen")
	}
}

// A file of which nobody knew the size has filled the disk and is gone again: nothing waits for it.
func TestRoomAfterUnknownSize(t *testing.T) {
	free := int64(1000)
	r := roomOf(&free)
	endless := &ongoing{path: "endless", size: -1}
	if in, _, err := r.enter(t.Context(), &job{}, "d", endless); !in || err != nil {
		t.Fatal(in, err)
	}
	if endless.here.Store(1000); r.full("d", endless) || r.paused() {
		t.Error("all wait for what nobody can give")
	}
	if free = 100; !r.full("d", endless) {
		t.Error("a full disk holds nobody up")
	}
}
