package harvest_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/sfm/platform/apitest"
)

const joe = `[{"id":"S0","token":"nobody"},{"id":"S1","token":"joe"}]`

func newFlickrDesk(t *testing.T, photos int) (*desk, *apitest.Flickr) {
	api := apitest.OpenFlickr(t)
	api.User("9@N01", "joe")
	for i := range photos {
		api.Post("9@N01", 100+i)
	}
	return newDesk(t, api.Base), api
}

// A harvest that is told to end in the midst says that it has paused; it goes on where it was, says so,
// and counts on. What was noted before is still said, with its seed.
func TestPauseAndResume(t *testing.T) {
	d, api := newFlickrDesk(t, 10)
	ctx, pause := context.WithCancel(t.Context())
	api.Before(func(r *http.Request) {
		if r.FormValue("photo_id") == "105" {
			pause()
		}
	})
	job := d.job("a1", "flickr_user", joe)
	d.run(ctx, job, harvest.Paused)
	if got := d.words(); got != "running, warc_created, stopping, paused" {
		t.Errorf("said %s", got)
	}
	before := counted(d.last())
	if before < 4 || before > 9 {
		t.Errorf("%d are counted at the pause", before)
	}
	d.run(t.Context(), job, harvest.Succeeded)
	first, last := d.statuses()[0], d.last()
	if counted(first) != before || !first.Started.Equal(last.Started.Time) {
		t.Errorf("went on with %+v", first)
	}
	if counted(last) != 10 || last.Warcs.Count != 2 || codes(last.Warnings) != "token_not_found S0, harvest_resumed" {
		t.Errorf("ended with %+v", last)
	}
}

// Without SFM UI 3 there are no statuses it does not know.
func TestPauseForOldRequesters(t *testing.T) {
	d, api := newFlickrDesk(t, 3)
	d.options.Paused = false
	ctx, pause := context.WithCancel(t.Context())
	api.Before(func(r *http.Request) { pause() })
	d.run(ctx, d.job("a1", "flickr_user", joe), harvest.Paused)
	if got := d.words(); got != "running, warc_created, running, running" {
		t.Errorf("said %s", got)
	}
}

// A stop message ends a harvest that is no stream, too, as a success.
func TestStop(t *testing.T) {
	d, api := newFlickrDesk(t, 10)
	stop := make(chan struct{})
	api.Before(func(r *http.Request) {
		if r.FormValue("photo_id") == "105" && r.FormValue("method") == "flickr.photos.getInfo" {
			close(stop)
		}
	})
	job := d.job("a1", "flickr_user", joe)
	job.Stop = stop
	d.run(t.Context(), job, harvest.Succeeded)
	if got := d.words(); got != "running, warc_created, stopping, completed success" {
		t.Errorf("said %s", got)
	}
	n := counted(d.last())
	job = d.job("a2", "flickr_user", joe)
	d.run(t.Context(), job, harvest.Succeeded)
	if n+counted(d.last()) != 10 {
		t.Errorf("%d and then %d of 10 are counted", n, counted(d.last()))
	}
	// One that was stopped before it could begin asks nothing.
	api.Before(nil)
	job = d.job("a3", "flickr_user", joe)
	api.Forget()
	job.Stop = stop
	d.run(t.Context(), job, harvest.Succeeded)
	if d.words() != "running, completed success" || len(api.Asked("")) != 0 {
		t.Errorf("said %s, asked %d times", d.words(), len(api.Asked("")))
	}
}

// A harvest that fails is tried again from where it was, and fails in the end with what it has.
func TestTries(t *testing.T) {
	d, api := newFlickrDesk(t, 10)
	api.Fail("photo_id=105", 3, apitest.Status(503))
	d.run(t.Context(), d.job("a1", "flickr_user", joe), harvest.Succeeded)
	if last := d.last(); counted(last) != 10 || codes(last.Warnings) != "token_not_found S0" {
		t.Errorf("ended with %+v", last)
	}
	api.Post("9@N01", 201, 202, 203)
	api.Fail("photo_id=202", -1, apitest.Status(503))
	d.run(t.Context(), d.job("a2", "flickr_user", joe), harvest.Failed)
	last := d.last()
	if counted(last) != 1 || codes(last.Errors) != "unknown_error" || !strings.Contains(last.Errors[0].Message, "503") {
		t.Errorf("ended with %+v", last)
	}
	if strings.Contains(d.log.String(), "0123456789abcdef") || strings.Contains(last.Errors[0].Message, "0123456789abcdef") {
		t.Error("the key is told")
	}
	api.Heal()
	d.run(t.Context(), d.job("a3", "flickr_user", joe), harvest.Succeeded)
	if counted(d.last()) != 2 {
		t.Errorf("went on with %+v", d.last())
	}
}

// A mistake in a type fails its harvest, and nothing else.
func TestPanic(t *testing.T) {
	d, _ := newFlickrDesk(t, 1)
	d.options.Types = []*harvest.Type{{Name: "flickr_user", Platform: "flickr", Module: "flickr_harvester", MinSeeds: 1, MaxSeeds: -1,
		Walk: func(context.Context, *harvest.Walk) error { panic("a mistake") }}}
	d.run(t.Context(), d.job("a1", "flickr_user", joe), harvest.Failed)
	if codes(d.last().Errors) != "unknown_error" {
		t.Errorf("ended with %+v", d.last())
	}
}

// There is one harvest at a time of a type in a collection; others may be beside it.
func TestOneInACollection(t *testing.T) {
	d, api := newFlickrDesk(t, 1)
	var inner error
	api.Before(func(r *http.Request) {
		api.Before(nil)
		_, inner = harvest.New(d.options).Run(t.Context(), d.job("a2", "flickr_user", joe))
	})
	d.run(t.Context(), d.job("a1", "flickr_user", joe), harvest.Succeeded)
	if !errors.Is(inner, harvest.ErrBusy) {
		t.Errorf("the second says %v", inner)
	}
	if _, err := os.Stat(filepath.Join(d.collection, ".harvest", "a2")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the second has left something: %v", err)
	}
}

// A state that cannot be read is not taken for an empty one, and stays as it is.
func TestDamagedState(t *testing.T) {
	d, _ := newFlickrDesk(t, 1)
	must(t, os.MkdirAll(d.collection, 0o755))
	path := filepath.Join(d.collection, "state.json")
	must(t, os.WriteFile(path, []byte("{bad"), 0o644))
	d.run(t.Context(), d.job("a1", "flickr_user", joe), harvest.Failed)
	if !strings.Contains(d.last().Errors[0].Message, "state.json") {
		t.Errorf("ended with %+v", d.last())
	}
	if text, _ := os.ReadFile(path); string(text) != "{bad" {
		t.Errorf("the state is %s", text)
	}
}

// What SFM, or another type, has in state.json stays.
func TestSharedState(t *testing.T) {
	d, _ := newFlickrDesk(t, 3)
	must(t, os.MkdirAll(d.collection, 0o755))
	path := filepath.Join(d.collection, "state.json")
	must(t, os.WriteFile(path, []byte(`{"flickr_harvester":{"9@N01.last_photo_id":"101","x":[1.50]},"other":{"y":9007199254740993}}`), 0o644))
	d.run(t.Context(), d.job("a1", "flickr_user", joe), harvest.Succeeded)
	text, err := os.ReadFile(path)
	must(t, err)
	for _, want := range []string{`"9@N01.last_photo_id": "102"`, "1.50", "9007199254740993"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if counted(d.last()) != 1 {
		t.Errorf("ended with %+v", d.last())
	}
}

// The clock goes back by a year in the midst: files keep their order, and the end is not before the start.
func TestClockGoesBack(t *testing.T) {
	d, api := newFlickrDesk(t, 10)
	d.options.Size = 4000
	var back atomic.Bool
	d.options.Now = func() time.Time {
		if back.Load() {
			return time.Now().AddDate(-1, 0, 0)
		}
		return time.Now()
	}
	api.Before(func(r *http.Request) {
		if r.FormValue("photo_id") == "105" {
			back.Store(true)
		}
	})
	d.run(t.Context(), d.job("a1", "flickr_user", joe), harvest.Succeeded)
	last := d.last()
	if counted(last) != 10 || last.Ended.Before(last.Started.Time) || last.Warcs.Count < 3 {
		t.Errorf("ended with %+v", last)
	}
}

// Nothing that is said can be put out: the harvest is not over, neither at its start nor in its midst, and
// ends when it can.
func TestNobodyListens(t *testing.T) {
	d, api := newFlickrDesk(t, 10)
	d.options.Size = 4000
	job := d.job("a1", "flickr_user", joe)
	ended := false
	job.Ended = func(harvest.Outcome) error { ended = true; return nil }
	api.Before(func(r *http.Request) {
		if r.FormValue("photo_id") == "105" {
			d.mu.Lock()
			d.fail = errors.New("no room")
			d.mu.Unlock()
		}
	})
	d.run(t.Context(), job, harvest.Unfinished)
	if ended {
		t.Error("it has ended")
	}
	d.fail = nil
	api.Before(nil)
	d.run(t.Context(), job, harvest.Succeeded)
	if last := d.last(); counted(last) != 10 || !ended {
		t.Errorf("ended with %+v", last)
	}
	d.fail = errors.New("no room")
	job = d.job("a2", "flickr_user", joe)
	d.run(t.Context(), job, harvest.Unfinished)
	d.fail = nil
	d.run(t.Context(), job, harvest.Failed)
	if codes(d.last().Errors) != "msg_persist_error" {
		t.Errorf("ended with %+v", d.last())
	}
}

// Ids that are paths stay within the collection, and in messages as they are.
func TestOddIDs(t *testing.T) {
	for _, id := range []string{"x:1/ü", "../../up", strings.Repeat("long", 100), "."} {
		d, _ := newFlickrDesk(t, 1)
		d.run(t.Context(), d.job(id, "flickr_user", joe), harvest.Succeeded)
		if d.last().ID != id {
			t.Errorf("%q is told of as %q", id, d.last().ID)
		}
		entries, err := os.ReadDir(filepath.Dir(filepath.Dir(d.collection)))
		must(t, err)
		if len(entries) != 1 {
			t.Errorf("%q has left %v", id, entries)
		}
	}
}
