package platform_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"srpump/pipeline/sfm/platform/apitest"
)

// What is wrong with one seed is a warning with its id, and does not touch the others.
func TestTumblrSeeds(t *testing.T) {
	t.Parallel()
	s := apitest.OpenTumblr(t)
	s.Post("staff", 3)
	s.Post("archive", 2)
	b := newBed(t, "tumblr_blog_posts", s.URL)
	out := b.run(ask{credentials: object{"api_key": "key"}, options: object{"incremental": true},
		seeds: []object{{"id": "a", "uid": "nobody"}, {"id": "b", "uid": "staff.tumblr.com"}, {"id": "c", "token": "archive"}}}).succeeded().warned("uid_not_found a")
	if got := len(out.ids()); got != 5 {
		t.Errorf("%d items", got)
	}
	if !strings.Contains(out.text(), "api_key=SCRUBBED&") || strings.Contains(out.text(), "api_key=key") {
		t.Error("the key is recorded")
	}
	if got := b.state("tumblr_harvester", "staff.since_post_id"); got != s.IDs("staff")[2] {
		t.Errorf("mark %s, not the number SFM's harvester has, %s", got, s.IDs("staff")[2])
	}
	if b.run(ask{credentials: object{"api_key": "other"}, seeds: seeds("staff")}).failed("api_key"); len(s.Asked("other")) != 1 {
		t.Error("a key that is not taken was tried again")
	}
}

// Posts that are removed while the pages are walked do not let others be passed over.
func TestTumblrRemoval(t *testing.T) {
	t.Parallel()
	s := apitest.OpenTumblr(t)
	s.Post("staff", 180)
	arrived, goOn := make(chan struct{}), make(chan struct{})
	s.Fail("offset=49", 1, apitest.Held(arrived, goOn, s.Real))
	go func() {
		<-arrived
		s.Remove("staff", 60) // more than the page that was read
		close(goOn)
	}()
	left := s.IDs("staff")[:120]
	got := newBed(t, "tumblr_blog_posts", s.URL).run(ask{credentials: object{"api_key": "key"}, seeds: seeds("staff")}).succeeded().ids()
	for _, id := range left {
		if !strings.Contains(strings.Join(got, " "), id) {
			t.Fatalf("%s was passed over", id)
		}
	}
}

func TestMastodonSeeds(t *testing.T) {
	t.Parallel()
	s := apitest.OpenMastodon(t)
	s.Account("109", "joe")
	s.Account("110", "ann")
	last := s.Post("109", "tag", 3)
	s.Post("110", "", 2)
	s.Token = "a-token"
	b := newBed(t, "mastodon_timeline", s.URL)
	out := b.run(ask{seeds: []object{{"id": "a", "token": "@joe@example.org"}, {"id": "b", "token": "annie@example.org", "uid": "110"}, {"id": "c", "token": "nobody@example.org"},
		{"id": "d", "token": "nobody@example.org", "uid": "1"}, {"id": "e", "token": "no name"}, {"id": "f", "token": "#tag@example.org"}}}).succeeded()
	out.warned("token_not_found c", "uid_not_found d", "token_not_found e", "token_unauthorized f")
	if out.seed(uids, "a") != "109" || out.seed(tokens, "b") != "ann@example.org" || out.seed(uids, "b") != "" || out.seed(tokens, "a") != "" {
		t.Errorf("uid of a %q, of b %q; token of a %q, of b %q", out.seed(uids, "a"), out.seed(uids, "b"), out.seed(tokens, "a"), out.seed(tokens, "b"))
	}
	if got := len(out.ids()); got != 5 {
		t.Errorf("%d items", got)
	}
	if got := b.state("mastodon_harvester", "timeline.109@example.org.min_id"); got != `"`+last+`"` {
		t.Errorf("mark %s", got)
	}
}

// What arrives late, with an id below the last one, comes where the walks overlap.
func TestMastodonOverlap(t *testing.T) {
	t.Parallel()
	s := apitest.OpenMastodon(t)
	s.Post("109", "tag", 3)
	b := newBed(t, "mastodon_timeline", s.URL)
	a := ask{seeds: seeds("#tag@example.org")}
	b.run(a).succeeded()
	s.Late("109", "tag", 1010)
	if ids := b.run(a).succeeded().ids(); len(ids) != 0 {
		t.Errorf("items %q", ids)
	}
	a.options = object{"overlap": 24}
	if ids := b.run(a).succeeded().ids(); !slices.Equal(ids, []string{"1007", "1010", "1014", "1021"}) {
		t.Errorf("items %q", ids)
	}
}

// An access token goes to the server it is for, and is not recorded.
func TestMastodonToken(t *testing.T) {
	t.Parallel()
	s := apitest.OpenMastodon(t)
	s.Token = "secret-token"
	s.Post("109", "tag", 1)
	b := newBed(t, "mastodon_timeline", s.URL)
	credentials := object{"access_token": "secret-token"}
	out := b.run(ask{seeds: seeds("#tag@example.org"), credentials: credentials}).succeeded().warned()
	if text := out.text(); strings.Contains(text, "secret-token") {
		t.Error("the token is recorded")
	}
	b.run(ask{seeds: seeds("#tag@example.org", "#tag@example.com"), credentials: credentials}).succeeded().warned("token_unauthorized seed0", "token_unauthorized seed1")
	credentials["host"] = "example.com"
	b.run(ask{seeds: seeds("#tag@example.org", "#tag@example.com"), credentials: credentials}).succeeded().warned("token_unauthorized seed0")
}

func TestBlueskySeeds(t *testing.T) {
	t.Parallel()
	s := apitest.OpenBluesky(t)
	s.Author("did:plc:a", "a.example.org")
	s.Author("did:plc:b", "b.example.org")
	s.Post("did:plc:a", 2)
	s.Post("did:plc:b", 3)
	b := newBed(t, "bluesky_author", s.URL)
	out := b.run(ask{seeds: []object{{"id": "a", "token": "@a.example.org"}, {"id": "b", "token": "old.example.org", "uid": "did:plc:b"}, {"id": "c", "token": "nobody.example.org"},
		{"id": "d", "uid": "did:plc:nobody"}}}).succeeded().warned("token_not_found c", "uid_not_found d")
	if out.seed(uids, "a") != "did:plc:a" || out.seed(tokens, "b") != "b.example.org" || len(out.ids()) != 5 {
		t.Errorf("uid %q, token %q, %d items", out.seed(uids, "a"), out.seed(tokens, "b"), len(out.ids()))
	}
}

// A cursor that is not taken any more makes the walk begin again: things come twice, but none is
// left out.
func TestRefusedCursor(t *testing.T) {
	t.Parallel()
	s := apitest.OpenBluesky(t)
	s.Author("did:plc:a", "a.example.org")
	s.Post("did:plc:a", 350)
	s.Fail("cursor=", 1, s.Real)
	s.Fail("cursor=", 1, apitest.Status(500))
	b := newBed(t, "bluesky_author", s.URL)
	b.options.Patience.Tries = 1
	a := ask{seeds: seeds("a.example.org")}
	first := b.run(a)
	first.failed("500")
	s.Fail("cursor=", 1, apitest.Error(400, "InvalidRequest", "Malformed cursor"))
	ids := append(first.ids(), b.run(a).succeeded().ids()...)
	if len(ids) != 200+350 || len(unique(sorted(ids))) != 350 {
		t.Errorf("%d items, %d different ones", len(ids), len(unique(sorted(ids))))
	}
}

func TestTwitterUsers(t *testing.T) {
	t.Parallel()
	s := apitest.OpenTwitter(t)
	for _, u := range [][3]string{{"1", "gwu", ""}, {"2", "new", ""}, {"3", "gone", "suspended"}, {"4", "shy", "protected"}} {
		s.User(u[0], u[1], u[2])
		s.Tweet(u[0], "text", 2)
	}
	b := newBed(t, "twitter_user_timeline_2", s.URL)
	a := ask{credentials: object{"bearer_token": "bearer"}, seeds: []object{{"id": "a", "token": "gwu"}, {"id": "b", "token": "old", "uid": "2"}, {"id": "c", "token": "gone"},
		{"id": "d", "uid": "4"}, {"id": "e", "token": 12345}, {"id": "f", "token": "x", "uid": "99"}}}
	out := b.run(a).succeeded().warned("token_suspended c", "uid_unauthorized d", "token_not_found e", "uid_not_found f")
	if out.seed(uids, "a") != "1" || out.seed(tokens, "b") != "new" || len(out.ids()) != 4 {
		t.Errorf("uid %q, token %q, %d items", out.seed(uids, "a"), out.seed(tokens, "b"), len(out.ids()))
	}
	if len(s.Asked("/username/12345")) != 1 {
		t.Error("a number as token is not the name in its digits")
	}
	a.credentials = object{"bearer_token": "another"}
	s.Forget()
	if b.run(a).failed("Unauthorized"); len(s.Asked("")) != 1 {
		t.Errorf("asked %d times with a token that is not taken", len(s.Asked("")))
	}
}

// A mark that is older than recent search looks back is left out: it would be refused. A limit
// ends a search; a place is an operator.
func TestTwitterSearchBounds(t *testing.T) {
	t.Parallel()
	s := apitest.OpenTwitter(t)
	s.PageSize = 10
	s.Tweet("1", "gelman", 45)
	b := newBed(t, "twitter_search_2", s.URL)
	a := ask{seeds: seeds(object{"query": "gelman", "limit": 20}), credentials: object{"bearer_token": "bearer"}, options: object{"incremental": true}}
	if got := len(b.run(a).succeeded().ids()); got != 20 {
		t.Errorf("%d items with a limit of 20", got)
	}
	b.options.Now = func() time.Time { return time.Now().Add(8 * 24 * time.Hour) }
	a.seeds = seeds("gelman")
	s.Forget()
	s.Tweet("1", "gelman", 45)
	if got := len(b.run(a).succeeded().ids()); got < 45 || strings.Contains(s.Asked("recent")[0].URI, "since_id") {
		t.Errorf("%d items; asked %s", got, s.Asked("recent")[0].URI)
	}
	a.seeds = seeds(object{"query": "x", "geocode": "38.89, -77.03, 10mi"})
	b.run(a).succeeded()
	if len(s.Asked("query=x+point_radius%3A%5B-77.03+38.89+10mi%5D")) != 1 {
		t.Error(s.Asked("recent"))
	}
}

// What was shut down says so, before anything is asked.
func TestRetired(t *testing.T) {
	for _, kind := range []string{"twitter_search", "twitter_filter"} {
		out := newBed(t, kind, "").run(ask{seeds: seeds("gwu")})
		out.failed("retired")
		if len(out.warcs) != 0 {
			t.Errorf("%s has recorded something", kind)
		}
	}
}

// A seed that cannot be harvested now does not keep the others from it; the harvest has failed
// all the same. Three in a row are an API that is down: no more are asked for.
func TestSeedsThatFail(t *testing.T) {
	t.Parallel()
	s := apitest.OpenBluesky(t)
	var all []any
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.Author("did:plc:"+name, name+".example.org")
		s.Post("did:plc:"+name, 2)
		all = append(all, name+".example.org")
	}
	b := newBed(t, "bluesky_author", s.URL)
	b.options.Patience.Tries = 1
	s.Fail("actor=b.example.org", -1, apitest.Status(503))
	s.Fail("actor=c.example.org", -1, apitest.Status(503))
	out := b.run(ask{seeds: seeds(all...)})
	out.failed("503")
	if got := len(out.ids()); got != 6 {
		t.Errorf("%d items", got)
	}
	s.Heal()
	s.Forget()
	s.Fail("", -1, apitest.Status(503))
	b.run(ask{seeds: seeds(all...)}).failed("503")
	if got := len(s.Asked("")); got != 3 {
		t.Errorf("asked %d times", got)
	}
}
