package platform_test

import (
	"strings"
	"testing"
	"time"

	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/sfm/platform/apitest"
	"srpump/pipeline/warc"
)

// A feed is fetched; when it has not changed only that is recorded; when it has, it comes again.
func TestFeed(t *testing.T) {
	t.Parallel()
	s := apitest.OpenSite(t)
	s.Page("/rss", "application/rss+xml", apitest.RSS("", "one", "two"))
	s.Page("/atom", "application/atom+xml", `<feed xmlns="http://www.w3.org/2005/Atom"><id>a</id><title>t</title><updated>2026-11-01T12:00:00Z</updated>`+
		`<entry><id>urn:x:1</id><title>t</title><updated>2026-11-01T12:00:00Z</updated></entry></feed>`)
	s.Page("/json", "application/feed+json", `{"version":"https://jsonfeed.org/version/1.1","title":"t","items":[{"id":"j1","content_text":"x"}]}`)
	b := newBed(t, "feed", "")
	a := ask{seeds: seeds(s.URL+"/rss", s.URL+"/atom", s.URL+"/json")}
	if out := b.run(a).succeeded().warned(); len(out.ids()) != 4 {
		t.Errorf("items %q", out.ids())
	}
	second := b.run(a).succeeded()
	if len(second.ids()) != 0 || second.records(warc.Response, "") != 3 || !strings.Contains(second.text(), "304 Not Modified") {
		t.Errorf("items %q, %d responses", second.ids(), second.records(warc.Response, ""))
	}
	s.Page("/rss", "application/rss+xml", apitest.RSS("", "zero", "one", "two"))
	if out := b.run(a).succeeded(); len(out.ids()) != 3 {
		t.Errorf("items %q", out.ids())
	}
	a.options = object{"incremental": false}
	if out := b.run(a).succeeded(); len(out.ids()) != 5 {
		t.Errorf("items %q", out.ids())
	}
}

// What is no feed, or not all of one, is a warning, and is asked for again the next time.
func TestFeedTrouble(t *testing.T) {
	t.Parallel()
	s := apitest.OpenSite(t)
	whole := apitest.RSS("", "one", "two")
	s.Page("/html", "text/html", "<!DOCTYPE html><html><body><p>no<br>feed</body></html>")
	s.Page("/cut", "application/rss+xml", whole[:len(whole)-20])
	s.Page("/json", "application/json", `{"items":[]}`)
	s.Fail("/forbidden", -1, apitest.Status(403))
	s.Fail("/gone", -1, apitest.Status(410))
	s.Fail("/circle", -1, apitest.Elsewhere(302, s.URL+"/circle"))
	s.Page("/good", "application/rss+xml", whole)
	b := newBed(t, "feed", "")
	a := ask{seeds: seeds(s.URL+"/html", s.URL+"/cut", s.URL+"/json", s.URL+"/forbidden", s.URL+"/gone", s.URL+"/circle", "ftp://example.org/feed", s.URL+"/good")}
	b.run(a).succeeded().warned("feed_unreadable seed0", "feed_unreadable seed1", "feed_unreadable seed2", "token_unauthorized seed3", "token_not_found seed4",
		"feed_unreadable seed5", "feed_unreadable seed6", "warc_unreadable")
	s.Page("/cut", "application/rss+xml", whole)
	if out := b.run(a).succeeded(); len(out.ids()) != 2 {
		t.Errorf("items %q", out.ids())
	}
	s.Fail("/good", -1, apitest.Status(503))
	b.run(a).failed("503")
}

// What only looks like an answer is no feed, and a token that is no text no request.
func TestFeedNone(t *testing.T) {
	t.Parallel()
	s := apitest.OpenSite(t)
	s.Page("/empty", "application/rss+xml", "")
	s.Page("/blank", "application/rss+xml", " \n\t")
	s.Page("/object", "application/feed+json", `{"version":"https://jsonfeed.org/version/1.1","items":{}}`)
	s.Page("/none", "application/feed+json", `{"version":"https://jsonfeed.org/version/1.1"}`)
	b := newBed(t, "feed", "")
	b.run(ask{seeds: seeds(s.URL+"/empty", s.URL+"/blank", s.URL+"/object", s.URL+"/none")}).succeeded().
		warned("feed_unreadable seed0", "feed_unreadable seed1", "feed_unreadable seed2", "feed_unreadable seed3")
	b.run(ask{seeds: seeds(s.URL+"/empty", object{"a": "b"})}).failed("bad_request seeds[1].token")
	b.run(ask{seeds: seeds([]string{"a"})}).failed("bad_request seeds[0].token")
	for name, value := range (object{"incremental": "maybe", "pages": -1, "delay": "x", "robots": 2, "overlap": "1h", "api_base": "nowhere"}) {
		b.run(ask{seeds: seeds(s.URL + "/empty"), options: object{name: value}}).failed("bad_request options." + name)
	}
}

// A server that does not want to be asked for days, and one that is not there, keep nobody else waiting.
// A host with an empty label is looked for nowhere, so that the test needs no name server.
func TestFeedApart(t *testing.T) {
	t.Parallel()
	busy, s := apitest.OpenSite(t), apitest.OpenSite(t)
	busy.Fail("/", -1, apitest.Status(429, "Retry-After", "999999"))
	s.Page("/good", "application/rss+xml", apitest.RSS("", "one"))
	b := newBed(t, "feed", "")
	b.options.Patience = harvest.Patience{Tries: 3, Pause: time.Millisecond}
	out := b.run(ask{seeds: seeds(busy.URL+"/a", busy.URL+"/b", "http://no..where/feed", s.URL+"/good")}).succeeded()
	out.warned("token_unavailable seed0", "token_unavailable seed1", "token_not_found seed2")
	if len(out.ids()) != 1 || len(busy.Asked("/")) != 1 {
		t.Errorf("items %q, asked %v", out.ids(), busy.Asked("/"))
	}
}

// A feed of several pages is walked as far as is allowed; one that goes in circles is a failure.
func TestFeedPages(t *testing.T) {
	t.Parallel()
	s := apitest.OpenSite(t)
	s.Page("/1", "application/rss+xml", apitest.RSS("/2", "six", "five"))
	s.Page("/2", "application/rss+xml", apitest.RSS("3", "four", "three"))
	s.Page("/3", "application/rss+xml", apitest.RSS("", "two", "one"))
	b := newBed(t, "feed", "")
	for pages, want := range map[int]int{0: 2, 2: 4, 9: 6} {
		a := ask{seeds: seeds(s.URL + "/1"), options: object{"pages": pages, "incremental": false}}
		if out := b.run(a).succeeded(); len(out.ids()) != want {
			t.Errorf("%d pages: items %q", pages, out.ids())
		}
	}
	s.Page("/3", "application/rss+xml", apitest.RSS("/1", "two", "one"))
	b.run(ask{seeds: seeds(s.URL + "/1"), options: object{"pages": 100, "incremental": false}}).failed("comes again")
}
