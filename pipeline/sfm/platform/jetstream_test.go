package platform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/sfm/platform/apitest"
	"srpump/pipeline/warc"
)

// reached waits until an event is on the disk, with the cursor at it or behind it.
func (l *listening) reached(s *apitest.Jetstream, event int) {
	l.t.Helper()
	at := s.At(event)
	l.until(fmt.Sprintf("event %d", event), func() bool { return l.cursor() >= at })
}

// cursor is the last one that was remembered beside an open WARC.
func (l *listening) cursor() (last int64) {
	files, _ := filepath.Glob(filepath.Join(l.b.path, ".harvest", "*", "*.journal"))
	for _, name := range files {
		data, _ := os.ReadFile(name) // it may be gone
		for line := range bytes.Lines(data) {
			var change struct {
				Delta struct{ State map[string]int64 }
			}
			if json.Unmarshal(line, &change) == nil {
				last = max(last, change.Delta.State["jetstream.cursor"])
			}
		}
	}
	return last
}

// What comes is recorded in pieces, with a cursor; a process that begins again takes it up.
func TestJetstream(t *testing.T) {
	t.Parallel()
	s := apitest.OpenJetstream(t)
	b := newBed(t, "bluesky_jetstream", s.URL)
	a := ask{id: "a", options: object{"flush": "0.02"}}
	l := b.listen(a)
	l.until("a connection", func() bool { return s.Listeners() == 1 })
	s.Emit("did:plc:a", "app.bsky.feed.post", 4000)
	s.Emit("did:plc:a", "app.bsky.feed.like", 10)
	l.reached(s, 3999)
	out := l.paused()
	if out.outcome != harvest.Paused {
		t.Fatalf("outcome %v, error %v", out.outcome, out.err)
	}
	if n := out.records(warc.Resource, "/subscribe"); n < 2 {
		t.Errorf("%d pieces", n)
	}
	s.Emit("did:plc:a", "app.bsky.feed.post", 100) // while nobody listens
	l = b.listen(a)
	l.reached(s, 4109)
	ids := append(out.ids(), l.stopped().succeeded().ids()...)
	if got := len(unique(sorted(ids))); got != 4100 {
		t.Errorf("%d different events of 4100", got)
	}
	if got := b.state("bluesky_harvester", "jetstream.cursor"); got != fmt.Sprint(s.At(4109)) {
		t.Errorf("cursor %s, not %d", got, s.At(4109))
	}
}

// What is sent before a harvest that was interrupted has seen anything comes as well.
func TestJetstreamQuiet(t *testing.T) {
	t.Parallel()
	s := apitest.OpenJetstream(t)
	b := newBed(t, "bluesky_jetstream", s.URL)
	a := ask{id: "a", options: object{"flush": "0.02"}}
	l := b.listen(a)
	l.until("a connection", func() bool { return s.Listeners() == 1 })
	if out := l.paused(); out.outcome != harvest.Paused {
		t.Fatalf("outcome %v, error %v", out.outcome, out.err)
	}
	s.Emit("did:plc:a", "app.bsky.feed.post", 10)
	l = b.listen(a)
	l.reached(s, 9)
	if ids := l.stopped().succeeded().ids(); len(ids) != 10 {
		t.Errorf("%d events of 10", len(ids))
	}
}

// A connection that breaks again and again costs nothing.
func TestJetstreamBreaks(t *testing.T) {
	t.Parallel()
	s := apitest.OpenJetstream(t)
	s.DropAfter = 700
	b := newBed(t, "bluesky_jetstream", s.URL)
	l := b.listen(ask{seeds: []object{{"id": "a", "uid": "did:plc:a"}}, options: object{"flush": 0.02}})
	l.until("a connection", func() bool { return s.Listeners() == 1 })
	s.Emit("did:plc:b", "app.bsky.feed.post", 10)
	s.Emit("did:plc:a", "app.bsky.feed.post", 1500)
	l.reached(s, 1509)
	if ids := l.stopped().succeeded().ids(); len(ids) != 1500 {
		t.Errorf("%d events of 1500", len(ids))
	}
}

// More authors than a URL holds are told in a message.
func TestJetstreamManyAuthors(t *testing.T) {
	t.Parallel()
	s := apitest.OpenJetstream(t)
	var many []object
	for i := range 200 {
		many = append(many, object{"id": fmt.Sprint(i), "uid": fmt.Sprintf("did:plc:%024d", i)})
	}
	l := newBed(t, "bluesky_jetstream", s.URL).listen(ask{seeds: many, options: object{"flush": 0.02}})
	l.until("a connection", func() bool { return s.Listeners() == 1 })
	s.Emit("did:plc:other", "app.bsky.feed.post", 5)
	s.Emit("did:plc:000000000000000000000007", "app.bsky.feed.post", 3)
	l.reached(s, 7)
	if ids := l.stopped().succeeded().ids(); len(ids) != 3 {
		t.Errorf("%d events of 3", len(ids))
	}
}

// A handle is an author by its DID; one nobody has is a warning, and without any author left the
// stream would be that of everybody.
func TestJetstreamHandles(t *testing.T) {
	t.Parallel()
	s, app := apitest.OpenJetstream(t), apitest.OpenBluesky(t)
	app.Author("did:plc:a", "a.example.org")
	b := newBed(t, "bluesky_jetstream", s.URL)
	options := object{"resolver": app.URL, "flush": 0.02}
	b.run(ask{seeds: seeds("@nobody.example.org"), options: options}).warned("token_not_found seed0").failed("None of the authors")
	l := b.listen(ask{seeds: seeds("@a.example.org", "app.bsky.feed.post"), options: options})
	l.until("a connection", func() bool { return s.Listeners() == 1 })
	s.Emit("did:plc:b", "app.bsky.feed.post", 2)
	s.Emit("did:plc:a", "app.bsky.feed.post", 2)
	l.reached(s, 3)
	if ids := l.stopped().succeeded().ids(); len(ids) != 2 {
		t.Errorf("%d events of 2", len(ids))
	}
}

// A server that is not there fails the harvest once it was tried often enough.
func TestJetstreamGone(t *testing.T) {
	t.Parallel()
	s := apitest.OpenJetstream(t)
	s.Fail("subscribe", -1, apitest.Status(503))
	b := newBed(t, "bluesky_jetstream", s.URL)
	b.options.Patience.Pause = time.Millisecond
	b.run(ask{}).failed("cannot connect")
}
