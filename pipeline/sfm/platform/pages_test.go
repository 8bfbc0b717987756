package platform_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/sfm/platform/apitest"
)

// A paged is an API whose items come page by page, and what is harvested of it.
type paged struct {
	desk *apitest.Desk
	base string // "" where the seeds say it
	ask  ask
	list string // is in the address of a page
	// add adds items; they all come in one harvest of everything.
	add  func(n int)
	page int // how many of them are on one page
}

type pagedType struct {
	name, kind string
	open       func(t *testing.T) *paged
	// again is how many items of before the first page of an incremental walk holds at most.
	again int
}

func pagedTypes() []pagedType {
	return []pagedType{
		{"tumblr", "tumblr_blog_posts", openTumblr, 50},
		{"mastodon account", "mastodon_timeline", openMastodonAccount, 0},
		{"mastodon tag", "mastodon_timeline", openMastodonTag, 0},
		{"bluesky", "bluesky_author", openBluesky, 100},
		{"twitter 2 search", "twitter_search_2", openTwitterSearch2, 0},
		{"twitter 2 timeline", "twitter_user_timeline_2", openTwitterTimeline2, 0},
		{"twitter 1.1 search", "twitter_search", openTwitterSearch, 0},
	}
}

func openTumblr(t *testing.T) *paged {
	s := apitest.OpenTumblr(t)
	return &paged{s.Desk, s.URL, ask{seeds: []object{{"id": "seed0", "uid": "staff"}}, options: object{"incremental": true}, credentials: object{"api_key": "key"}},
		"/posts", func(n int) { s.Post("staff", n) }, 50}
}

func openMastodonAccount(t *testing.T) *paged {
	s := apitest.OpenMastodon(t)
	s.Account("109", "joe")
	return &paged{s.Desk, s.URL, ask{seeds: seeds("joe@example.org")}, "/statuses", func(n int) { s.Post("109", "", n) }, 40}
}

func openMastodonTag(t *testing.T) *paged {
	s := apitest.OpenMastodon(t)
	s.Token = "a-token"
	return &paged{s.Desk, s.URL, ask{seeds: seeds("#archives@example.org"), credentials: object{"access_token": "a-token"}}, "/timelines/tag",
		func(n int) { s.Post("109", "archives", n); s.Post("109", "other", 1) }, 40}
}

func openBluesky(t *testing.T) *paged {
	s := apitest.OpenBluesky(t)
	s.Author("did:plc:abc", "joe.example.org")
	return &paged{s.Desk, s.URL, ask{seeds: seeds("joe.example.org")}, "getAuthorFeed", func(n int) { s.Post("did:plc:abc", n) }, 100}
}

func openTwitterSearch2(t *testing.T) *paged {
	s := apitest.OpenTwitter(t)
	return &paged{s.Desk, s.URL, ask{seeds: seeds("gelman"), options: object{"incremental": true}, credentials: object{"bearer_token": "bearer"}}, "/search/recent",
		func(n int) { s.Tweet("1", "at gelman", n); s.Tweet("1", "else", 1) }, 100}
}

func openTwitterTimeline2(t *testing.T) *paged {
	s := apitest.OpenTwitter(t)
	s.User("7", "gwu", "")
	return &paged{s.Desk, s.URL, ask{seeds: seeds("gwu"), options: object{"incremental": true}, credentials: object{"bearer_token": "bearer"}}, "/tweets?",
		func(n int) { s.Tweet("7", "text", n) }, 100}
}

func openTwitterSearch(t *testing.T) *paged {
	s := apitest.OpenTwitter(t)
	return &paged{s.Desk, s.URL, ask{seeds: seeds("gelman"), options: object{"incremental": true},
		credentials: object{"consumer_key": "a", "consumer_secret": "b", "access_token": "c", "access_token_secret": "d"}}, "/1.1/search",
		func(n int) { s.Tweet("1", "at gelman", n) }, 100}
}

// eachPaged runs a test for every such API.
func eachPaged(t *testing.T, test func(t *testing.T, p *paged, b *bed, kind pagedType)) {
	for _, kind := range pagedTypes() {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			p := kind.open(t)
			test(t, p, newBed(t, kind.kind, p.base), kind)
		})
	}
}

// Everything is harvested, page by page; and then only what is new, though of APIs that cannot
// be asked for that the first page comes again.
func TestIncremental(t *testing.T) {
	eachPaged(t, func(t *testing.T, p *paged, b *bed, kind pagedType) {
		n := 2*p.page + 3
		p.add(n)
		first := b.run(p.ask).succeeded().warned()
		if got := len(first.ids()); got < n || len(unique(first.ids())) != n {
			t.Fatalf("%d items, %d different ones, not %d", got, len(unique(first.ids())), n)
		}
		if got := b.run(p.ask).succeeded().ids(); len(got) > kind.again {
			t.Errorf("%d items again", len(got))
		}
		p.add(5)
		third := b.run(p.ask).succeeded().ids()
		fresh := 0
		for _, id := range unique(third) {
			if !slices.Contains(first.ids(), id) {
				fresh++
			}
		}
		if fresh != 5 || len(third) > kind.again+5 {
			t.Errorf("%d new items, %d in all", fresh, len(third))
		}
	})
}

func sorted(ids []string) []string {
	slices.Sort(ids)
	return ids
}

// Without incremental, everything comes each time, and nothing is kept of it.
func TestNotIncremental(t *testing.T) {
	eachPaged(t, func(t *testing.T, p *paged, b *bed, _ pagedType) {
		p.add(p.page + 2)
		for range 2 {
			a := p.ask
			a.options = object{"incremental": false}
			if got := len(unique(b.run(a).succeeded().ids())); got != p.page+2 {
				t.Errorf("%d items", got)
			}
		}
		if state, _ := os.ReadFile(filepath.Join(b.path, "state.json")); bytes.Contains(state, []byte("@h")) {
			t.Errorf("what is of no use any more is kept: %s", state)
		}
	})
}

// Too many requests, a server out of order for a while, a connection that is cut: asked again.
func TestTemporaryFaults(t *testing.T) {
	faults := map[string]http.HandlerFunc{
		"429 Retry-After":          apitest.Status(429, "Retry-After", "0"),
		"429 X-RateLimit-Reset":    apitest.Status(429, "X-RateLimit-Reset", "2026-01-01T00:00:00.000Z"),
		"429 x-rate-limit-reset":   apitest.Status(429, "x-rate-limit-reset", "1767225600", "x-rate-limit-remaining", "0"),
		"429 x-ratelimit-perhour":  apitest.Status(429, "x-ratelimit-perhour-reset", "0", "x-ratelimit-perhour-remaining", "0"),
		"503":                      apitest.Status(503),
		"cut":                      apitest.Truncated,
		"500 without sense inside": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "<html>", 500) },
	}
	eachPaged(t, func(t *testing.T, p *paged, b *bed, _ pagedType) {
		p.add(p.page + 2)
		for name, fault := range faults {
			p.desk.Fail(p.list, 2, fault)
			a := p.ask
			a.options = object{"incremental": false}
			if got := len(unique(b.run(a).succeeded().ids())); got != p.page+2 {
				t.Errorf("%s: %d items", name, got)
			}
			p.desk.Heal()
		}
	})
}

// A fault that lasts fails the harvest, and nothing is passed over later: the mark has not moved.
func TestLastingFaults(t *testing.T) {
	faults := map[string]http.HandlerFunc{"503": apitest.Status(503), "HTML": apitest.HTML, "cut": apitest.Truncated, "not whole": apitest.Short,
		"redirected inside": apitest.Elsewhere(302, "http://169.254.169.254/latest/meta-data")}
	eachPaged(t, func(t *testing.T, p *paged, b *bed, _ pagedType) {
		n := (len(faults)+1)*p.page + 3
		p.add(n)
		have := []string{}
		for name, fault := range faults {
			p.desk.Forget()
			arrived, goOn := make(chan struct{}), make(chan struct{})
			go func() { // the first page comes, no other
				select {
				case <-arrived:
					p.desk.Heal()
					p.desk.Fail(p.list, -1, fault)
					close(goOn)
				case <-t.Context().Done():
				}
			}()
			p.desk.Fail(p.list, 1, apitest.Held(arrived, goOn, p.desk.Real))
			out := b.run(p.ask)
			out.failed("")
			p.desk.Heal()
			if name != "503" && name != "cut" && len(p.desk.Asked(p.list)) > 3 {
				t.Errorf("%s: asked %d times", name, len(p.desk.Asked(p.list)))
			}
			have = append(have, out.ids()...)
		}
		have = append(have, b.run(p.ask).succeeded().ids()...)
		if got := len(unique(sorted(have))); got != n {
			t.Errorf("%d different items in the end, not %d", got, n)
		}
	})
}

// An answer that grows without end when it is unpacked fails the harvest; what came of it is kept.
func TestBomb(t *testing.T) {
	t.Parallel()
	p := openTumblr(t)
	p.desk.Fail(p.list, -1, apitest.Bomb)
	b := newBed(t, "tumblr_blog_posts", p.base)
	b.run(p.ask).failed("it is too long")
}

// A page that points to itself ends the walk, as a failure.
func TestEndlessPages(t *testing.T) {
	eachPaged(t, func(t *testing.T, p *paged, b *bed, _ pagedType) {
		p.add(2*p.page + 3)
		b.run(p.ask).succeeded()
		first := p.desk.Asked(p.list)[0]
		body := fetch(t, p.desk.URL+first.URI, first.Header)
		p.desk.Fail(p.list, -1, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
		fresh := newBed(t, b.kind, b.base)
		fresh.run(p.ask).failed("to their end")
	})
}

// A pause in the midst goes on where it was: all items are there in the end, without a gap, and
// at most a page of them twice.
func TestPauseAndResume(t *testing.T) {
	eachPaged(t, func(t *testing.T, p *paged, b *bed, kind pagedType) {
		n := 5*p.page + 3
		p.add(n)
		ctx, cancel := context.WithCancel(t.Context())
		arrived, goOn := make(chan struct{}), make(chan struct{})
		p.desk.Fail(p.list, 2, p.desk.Real)
		p.desk.Fail(p.list, 1, apitest.Held(arrived, goOn, p.desk.Real))
		go func() {
			<-arrived
			cancel()
			close(goOn)
		}()
		a := p.ask
		a.id, a.ctx = "paused", ctx
		out := b.run(a)
		if out.outcome != harvest.Paused {
			t.Fatalf("outcome %v, error %v", out.outcome, out.err)
		}
		ids := out.ids()
		if len(ids) == 0 || len(ids) == n {
			t.Fatalf("%d items before the pause", len(ids))
		}
		a.ctx = nil
		p.add(2)
		ids = sorted(append(ids, b.run(a).succeeded().ids()...))
		if len(unique(ids)) != n+2 || len(ids) > n+2+2*p.page {
			t.Errorf("%d different items of %d, %d in all", len(unique(ids)), n+2, len(ids))
		}
		if got := b.run(p.ask).succeeded().ids(); len(got) > kind.again {
			t.Errorf("%d items once more", len(got))
		}
	})
}

// A stop message ends a harvest as a success, and what it left out comes at the next.
func TestStop(t *testing.T) {
	eachPaged(t, func(t *testing.T, p *paged, b *bed, _ pagedType) {
		n := 4*p.page + 3
		p.add(n)
		stop, arrived, goOn := make(chan struct{}), make(chan struct{}), make(chan struct{})
		p.desk.Fail(p.list, 1, apitest.Held(arrived, goOn, p.desk.Real))
		go func() {
			<-arrived
			close(stop)
			close(goOn)
		}()
		a := p.ask
		a.stop = stop
		ids := b.run(a).succeeded().ids()
		if len(ids) == 0 || len(ids) >= n {
			t.Fatalf("%d items before the stop", len(ids))
		}
		ids = sorted(append(ids, b.run(p.ask).succeeded().ids()...))
		if len(unique(ids)) != n {
			t.Errorf("%d different items, not %d", len(unique(ids)), n)
		}
	})
}

func fetch(t *testing.T, at string, h http.Header) []byte {
	t.Helper()
	r, err := http.NewRequest("GET", at, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = h
	r.Header.Del("Accept-Encoding")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != 200 {
		t.Fatal(a.Status, err)
	}
	http.DefaultClient.CloseIdleConnections()
	return body
}

// What stands on two pages, as pages overlap, is one item in the counts.
func TestCountsAreOfItems(t *testing.T) {
	eachPaged(t, func(t *testing.T, p *paged, b *bed, _ pagedType) {
		n := 3*p.page + 2
		p.add(n)
		var counted int64
		for _, labels := range b.run(p.ask).succeeded().last().Stats {
			for _, items := range labels {
				counted += items
			}
		}
		if counted != int64(n) {
			t.Errorf("%d of %d are counted", counted, n)
		}
	})
}
