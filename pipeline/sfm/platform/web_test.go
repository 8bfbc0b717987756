package platform_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/sfm/platform"
	"srpump/pipeline/sfm/platform/apitest"
	"srpump/pipeline/warc"
)

// quick is without the pause between two requests, which others test.
func quick(more object) object {
	o := object{"delay": 0}
	for name, value := range more {
		o[name] = value
	}
	return o
}

// Each address is fetched, with the redirections on the way; what fails is told of.
func TestWeb(t *testing.T) {
	t.Parallel()
	s := apitest.OpenSite(t)
	s.Page("/", "text/html", "<html>home</html>")
	s.Page("/image", "image/jpeg", "an image")
	s.Fail("/moved", -1, apitest.Elsewhere(301, "/moves-again"))
	s.Fail("/moves-again", -1, apitest.Elsewhere(307, s.URL+"/image"))
	s.Fail("/circle", -1, apitest.Elsewhere(302, "/circle"))
	s.Fail("/broken", -1, apitest.Status(500))
	b := newBed(t, "web", "")
	out := b.run(ask{options: quick(nil), seeds: []object{{"token": strings.TrimPrefix(s.URL, "http://")}, {"token": s.URL + "/moved"}, {"id": "c", "token": s.URL + "/missing"}, {"id": "d", "token": s.URL + "/circle"},
		{"id": "e", "token": s.URL + "/broken"}, {"id": "f", "token": "mailto:a@example.org"}}}).succeeded()
	out.warned("web_failed f", "web_failed c", "web_failed d", "web_failed e")
	for part, n := range map[string]int{"/moved": 1, "/moves-again": 1, "/image": 1, "/missing": 1, "/circle": 1, "/broken": 1, "/robots.txt": 1} {
		if got := out.records(warc.Response, part); got != n {
			t.Errorf("%d records of %s, not %d", got, part, n)
		}
	}
	if n := out.last().Infos; len(n) != 1 || !strings.HasPrefix(n[0].Message, "2 addresses fetched, 0 more") || !strings.HasSuffix(n[0].Message, "4 failed") {
		t.Errorf("infos %v", n)
	}
}

// A payload the collection has becomes a revisit record that names the one it is in.
func TestWebRevisit(t *testing.T) {
	t.Parallel()
	s := apitest.OpenSite(t)
	s.Page("/a", "text/plain", "the same text")
	s.Page("/b", "text/plain", "the same text")
	s.Page("/c", "text/plain", "another text")
	b := newBed(t, "web", "")
	a := ask{options: quick(object{"robots": false}), seeds: seeds(s.URL+"/a", s.URL+"/b", s.URL+"/c")}
	first := b.run(a).succeeded()
	if got := first.records(warc.Revisit, "/b"); got != 1 {
		t.Errorf("%d revisit records", got)
	}
	s.Page("/c", "text/plain", "a third text")
	second := b.run(a).succeeded()
	if got := second.records(warc.Revisit, ""); got != 2 {
		t.Errorf("%d revisit records in the second harvest", got)
	}
	if got := second.records(warc.Response, "/c"); got != 1 {
		t.Errorf("%d records of what has changed", got)
	}
	var id string
	first.each(first.warcs[0], func(r *warc.Record) error {
		if r.Type() == warc.Response && strings.HasSuffix(r.URI(), "/a") {
			id = r.ID()
		}
		return nil
	})
	second.each(second.warcs[0], func(r *warc.Record) error {
		if r.Type() == warc.Revisit && (r.Fields.Get(warc.FieldRefersTo) != id || !strings.HasSuffix(r.Fields.Get(warc.FieldRefersToURI), "/a")) {
			t.Errorf("it refers to %s at %s, not %s", r.Fields.Get(warc.FieldRefersTo), r.Fields.Get(warc.FieldRefersToURI), id)
		}
		return nil
	})
}

// What robots.txt forbids is left out; where it cannot be had so is everything.
func TestWebRobots(t *testing.T) {
	t.Parallel()
	s := apitest.OpenSite(t)
	s.Page("/robots.txt", "text/plain", "User-agent: *\nDisallow: /private\n\nUser-agent: srpump\nDisallow: /ours\nAllow: /private\n")
	for _, path := range []string{"/open", "/private/x", "/ours/x"} {
		s.Page(path, "text/plain", path)
	}
	all := seeds(s.URL+"/open", s.URL+"/private/x", s.URL+"/ours/x")
	out := newBed(t, "web", "").run(ask{options: quick(nil), seeds: all}).succeeded().warned()
	if out.records(warc.Response, "/ours") != 0 || out.records(warc.Response, "/private") != 1 || !strings.Contains(out.last().Infos[0].Message, "1 forbidden") {
		t.Errorf("infos %v", out.last().Infos)
	}
	if out := newBed(t, "web", "").run(ask{options: quick(object{"robots": false}), seeds: all}).succeeded(); out.records(warc.Response, "") != 3 {
		t.Errorf("%d records without robots.txt", out.records(warc.Response, ""))
	}
	s.Fail("/robots.txt", -1, apitest.Status(503))
	newBed(t, "web", "").run(ask{options: quick(nil), seeds: all}).failed("cannot fetch any of the 3 addresses")
}

// An address that was found in what somebody else wrote never leads to a machine inside; one that a
// person has named may be such, and what it redirects to.
func TestWebPrivate(t *testing.T) {
	t.Parallel()
	s := apitest.OpenSite(t)
	s.Page("/secret", "text/plain", "a secret")
	s.Fail("/to-secret", -1, apitest.Elsewhere(302, s.URL+"/secret"))
	b := newBed(t, "web", "")
	found := ask{parent: "h0", options: quick(object{"robots": false}), seeds: seeds(s.URL+"/secret", "http://[::1]:1/", "http://169.254.169.254/latest/meta-data")}
	out := b.run(found).succeeded().warned("web_failed seed0", "web_failed seed1", "web_failed seed2")
	if len(s.Asked("")) != 0 || !strings.Contains(out.last().Warnings[0].Message, "not a public one") {
		t.Errorf("asked %v, told %v", s.Asked(""), out.last().Warnings)
	}
	found.options = quick(nil)
	if b.run(found).succeeded(); len(s.Asked("")) != 0 {
		t.Errorf("asked %v for the rules", s.Asked(""))
	}
	found.options, found.seeds = quick(object{"private_addresses": true}), seeds(s.URL+"/to-secret")
	b.run(found).succeeded().warned()
	b.run(ask{options: quick(nil), seeds: seeds(s.URL + "/to-secret")}).succeeded().warned()
}

// A redirection from a public address to one inside is not followed, nor is its robots.txt asked
// for, also when a person has named the first. 127.0.0.2 plays the part of the public address.
func TestWebRedirectInside(t *testing.T) {
	t.Parallel()
	s := apitest.OpenSite(t)
	s.Page("/secret", "text/plain", "a secret")
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	outside := httptest.NewUnstartedServer(http.RedirectHandler(s.URL+"/secret", http.StatusFound))
	outside.Listener.Close()
	outside.Listener = l
	outside.Start()
	t.Cleanup(outside.Close)
	b := newBed(t, "web", "")
	b.options.Types = []*harvest.Type{platform.WebTo(func(a netip.Addr) bool { return a.String() == "127.0.0.2" })}
	for _, parent := range []string{"", "h0"} {
		for _, robots := range []bool{true, false} {
			out := b.run(ask{parent: parent, options: quick(object{"robots": robots}), seeds: seeds(outside.URL)}).succeeded()
			if text := out.last().Warnings[0].Message; !strings.Contains(text, "not a public one") {
				t.Errorf("parent %q, robots %v: %q", parent, robots, text)
			}
		}
	}
	if len(s.Asked("")) != 0 {
		t.Errorf("asked %v", s.Asked(""))
	}
}

// What is too long or takes too long is taken as far as it goes.
func TestWebBounds(t *testing.T) {
	t.Parallel()
	s := apitest.OpenSite(t)
	s.Page("/long", "text/plain", strings.Repeat("x", 300_000))
	s.Fail("/bomb", -1, apitest.Bomb)
	s.Fail("/slow", -1, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	out := newBed(t, "web", "").run(ask{options: quick(object{"robots": false, "max_bytes": 100_000}),
		seeds: seeds(s.URL+"/long", s.URL+"/bomb")}).succeeded().warned()
	n := 0
	out.each(out.warcs[0], func(r *warc.Record) error {
		if r.Fields.Get(warc.FieldTruncated) == "length" {
			n++
		}
		return nil
	})
	if n != 2 {
		t.Errorf("%d records say that they are truncated", n)
	}
	newBed(t, "web", "").run(ask{options: quick(object{"robots": false, "timeout": 0.1}), seeds: seeds(s.URL + "/slow")}).failed("cannot fetch any")
}

// Two requests to one host are so far apart as the delay says, or as its robots.txt does.
func TestWebDelay(t *testing.T) {
	t.Parallel()
	s := apitest.OpenSite(t)
	s.Page("/robots.txt", "text/plain", "User-agent: *\nCrawl-delay: 0.2\n")
	s.Page("/a", "text/plain", "a")
	s.Page("/b", "text/plain", "b")
	began := time.Now()
	newBed(t, "web", "").run(ask{options: quick(nil), seeds: seeds(s.URL+"/a", s.URL+"/b")}).succeeded()
	if took := time.Since(began); took < 200*time.Millisecond {
		t.Errorf("three requests in %v", took)
	}
}

// The hosts take turns.
func TestWebTurns(t *testing.T) {
	t.Parallel()
	a, b := apitest.OpenSite(t), apitest.OpenSite(t)
	var all []any
	for _, s := range []*apitest.Site{a, a, a, b, a, b} {
		path := fmt.Sprintf("/%d", len(all))
		s.Page(path, "text/plain", path)
		all = append(all, s.URL+path)
	}
	out := newBed(t, "web", "").run(ask{options: quick(object{"robots": false}), seeds: seeds(all...)}).succeeded()
	var order []string
	out.each(out.warcs[0], func(r *warc.Record) error {
		if r.Type() == warc.Response {
			order = append(order, r.URI()[strings.LastIndex(r.URI(), "/")+1:])
		}
		return nil
	})
	if got := strings.Join(order, ""); got != "031524" {
		t.Errorf("visited in the order %s", got)
	}
}

// A harvest that is paused goes on behind the last address it has visited.
func TestWebResume(t *testing.T) {
	t.Parallel()
	s := apitest.OpenSite(t)
	var all []any
	for _, path := range []string{"/a", "/b", "/c", "/d"} {
		s.Page(path, "text/plain", "page "+path)
		all = append(all, s.URL+path)
	}
	b := newBed(t, "web", "")
	arrived, goOn := make(chan struct{}), make(chan struct{})
	s.Fail("/b", 1, apitest.Held(arrived, goOn, s.Real))
	a := ask{id: "a", options: quick(object{"robots": false}), seeds: seeds(all...)}
	l := b.listen(a)
	l.await(arrived)
	l.hush()
	close(goOn)
	if out := <-l.done; out.outcome != harvest.Paused {
		t.Fatalf("outcome %v", out.outcome)
	}
	if n := b.run(a).succeeded().last().Infos; len(n) != 1 || !strings.HasPrefix(n[0].Message, "4 addresses fetched") {
		t.Errorf("infos %v", n)
	}
	for _, path := range []string{"/a", "/b", "/c", "/d"} {
		if n := len(s.Asked(path)); n != 1 {
			t.Errorf("asked %d times for %s", n, path)
		}
	}
}
