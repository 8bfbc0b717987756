package pump

import (
	"context"
	"errors"
	"testing"
	"time"

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
	r := newRoom(least)
	r.look = func(string) (space, error) { return space{free: *free, total: 1000, at: time.Now()}, nil }
	return r
}

// What running fetches have yet to bring counts, what they have brought does not count twice, and what waited is
// given back once there is room.
func TestRoom(t *testing.T) {
	free := int64(1000)
	r := roomOf(&free)
	enter := func(size int64) (*ongoing, bool) {
		o := &ongoing{size: size}
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
	if _, in := enter(1); in {
		t.Error("taken in though paused")
	}
	if _, yes := r.reopen(); yes {
		t.Error("reopened without more room")
	}
	first.here.Store(600)
	free = 401
	if waited, yes := r.reopen(); !yes || len(waited) != 2 || r.paused() {
		t.Errorf("not reopened: %v", waited)
	}
	r.leave(first)
	if _, _, err := r.enter(t.Context(), &job{}, "d", &ongoing{size: 901}); !errors.Is(err, errNeverFits) {
		t.Errorf("what never fits: %v", err)
	}
}
