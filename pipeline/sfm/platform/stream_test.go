package platform_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/sfm/platform/apitest"
)

// A listening is a stream that is being harvested.
type listening struct {
	t    *testing.T
	b    *bed
	stop chan struct{}
	hush context.CancelFunc
	done chan *told
}

// listen starts a harvest of a stream.
func (b *bed) listen(a ask) *listening {
	l := &listening{t: b.t, b: b, stop: make(chan struct{}), done: make(chan *told, 1)}
	a.ctx, l.hush = context.WithCancel(b.t.Context())
	a.stop = l.stop
	go func() { l.done <- b.run(a) }()
	b.t.Cleanup(l.hush)
	return l
}

// until waits for something, or fails the test when it does not come.
func (l *listening) until(what string, is func() bool) {
	l.t.Helper()
	end := time.After(30 * time.Second)
	for !is() {
		select {
		case <-end:
			l.t.Fatalf("waited for %s", what)
		case out := <-l.done:
			l.t.Fatalf("waited for %s, and the harvest ended with %v, %v", what, out.outcome, out.last().Errors)
		case <-time.After(time.Millisecond):
		}
	}
}

// await waits until a request is there.
func (l *listening) await(arrived <-chan struct{}) {
	l.t.Helper()
	select {
	case <-arrived:
	case out := <-l.done:
		l.t.Fatalf("the harvest ended with %v, %v", out.outcome, out.last().Errors)
	}
}

// recorded waits until a text is on the disk, as part of what a stream is recorded in.
func (l *listening) recorded(text string) { l.t.Helper(); l.recordedIn(1, text) }

// recordedIn waits until so many streams have recorded a text.
func (l *listening) recordedIn(n int, text string) {
	l.t.Helper()
	l.until("the record of "+text, func() bool {
		files, _ := filepath.Glob(filepath.Join(l.b.path, ".harvest", "*", "*.part"))
		have := 0
		for _, name := range files {
			if data, err := os.ReadFile(name); err == nil && bytes.Contains(data, []byte(text)) {
				have++
			}
		}
		return have >= n
	})
}

// stopped sends a stop message and is how it ends.
func (l *listening) stopped() *told {
	close(l.stop)
	return <-l.done
}

// paused lets the harvester go away.
func (l *listening) paused() *told {
	l.hush()
	return <-l.done
}

func TestMastodonStream(t *testing.T) {
	t.Parallel()
	s := apitest.OpenMastodon(t)
	s.Token = "secret-token"
	b := newBed(t, "mastodon_stream", s.URL)
	l := b.listen(ask{seeds: seeds("#archives@example.org", "public@example.org", "nobody@example.org"), credentials: object{"access_token": "secret-token"}})
	l.until("two streams", func() bool { return s.Listeners() == 2 })
	last := s.Post("109", "archives", 5)
	other := s.Post("109", "", 2)
	l.recordedIn(2, "status "+last) // what has the tag is also public
	l.recorded("status " + other)
	out := l.stopped().succeeded().warned("token_not_found seed2")
	if ids := out.ids(); len(unique(ids)) != 7 || len(ids) != 12 {
		t.Errorf("%d items, %d different ones", len(ids), len(unique(ids)))
	}
	if strings.Contains(out.text(), "secret-token") {
		t.Error("the token is recorded")
	}
}

// A stream that breaks off is connected to again; what came before is there.
func TestStreamBreaks(t *testing.T) {
	t.Parallel()
	s := apitest.OpenMastodon(t)
	b := newBed(t, "mastodon_stream", s.URL)
	l := b.listen(ask{seeds: seeds("#archives@example.org")})
	for range 3 {
		l.until("a stream", func() bool { return s.Listeners() == 1 })
		l.recorded("status " + s.Post("109", "archives", 2))
		s.Cut()
		l.until("the end of the stream", func() bool { return len(s.Asked("streaming")) > 0 && s.Listeners() == 0 })
	}
	if ids := l.stopped().succeeded().ids(); len(ids) != 6 {
		t.Errorf("%d items", len(ids))
	}
}

// Without any seed that can be listened to the harvest fails, and is not tried again.
func TestStreamRefused(t *testing.T) {
	t.Parallel()
	s := apitest.OpenMastodon(t)
	s.Token = "a-token"
	out := newBed(t, "mastodon_stream", s.URL).run(ask{seeds: seeds("#archives@example.org")}).warned("token_unauthorized seed0")
	out.failed("None of the seeds")
}

func TestTwitterFilterStream(t *testing.T) {
	t.Parallel()
	s := apitest.OpenTwitter(t)
	s.Rule("left by somebody")
	s.Rule("gwu")
	b := newBed(t, "twitter_filter_stream", s.URL)
	rules := seeds(object{"rule": "gwu"}, object{"rule": "gelman", "tag": "library"}, object{"rule": "((wrong"})
	l := b.listen(ask{seeds: rules, credentials: object{"bearer_token": "bearer"}})
	l.until("a stream", func() bool { return s.Listeners() == 1 })
	if got := s.Rules(); !slices.Equal(got, []string{"gwu", "gelman"}) {
		t.Errorf("rules %q", got)
	}
	l.recorded(s.Tweet("1", "at gelman", 5))
	if ids := l.stopped().succeeded().warned("token_UnprocessableEntity seed2").ids(); len(ids) != 5 {
		t.Errorf("%d items", len(ids))
	}
	b.run(ask{seeds: rules, credentials: object{"bearer_token": "another"}}).failed("Unauthorized")
}

func TestTwitterFilter(t *testing.T) {
	t.Parallel()
	s := apitest.OpenTwitter(t)
	b := newBed(t, "twitter_filter", s.URL)
	keys := object{"consumer_key": "a", "consumer_secret": "b", "access_token": "c", "access_token_secret": "d"}
	l := b.listen(ask{seeds: seeds(object{"track": "gelman library,gwu", "language": "en"}), credentials: keys})
	l.until("a stream", func() bool { return s.Listeners() == 1 })
	l.recorded(s.Tweet("1", "at gelman", 5))
	out := l.paused()
	if out.outcome != harvest.Paused || len(out.ids()) != 5 {
		t.Errorf("outcome %v, %d items", out.outcome, len(out.ids()))
	}
	if !strings.Contains(out.text(), "language=en&track=gelman+library%2Cgwu") {
		t.Error("the filter is not in the request")
	}
	b.run(ask{seeds: seeds(object{"language": "en"}), credentials: keys}).failed("none of track, follow and locations")
}
