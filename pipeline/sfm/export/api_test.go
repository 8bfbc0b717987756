package export

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"srpump/pipeline/sfm"
)

func many(n int) (all []Warc) {
	for i := range n {
		all = append(all, Warc{ID: fmt.Sprint(i), Path: fmt.Sprintf("/w/%04d", i), Created: sfm.Time{}})
	}
	return all
}

func paths(all []Warc) (p []string) {
	for _, w := range all {
		p = append(p, w.Path)
	}
	return p
}

// All pages are read, at the host that was named, also when the server says it is another.
func TestPages(t *testing.T) {
	s, api := serve(t, many(7)...)
	got, err := api.Warcs(t.Context(), Query{Collection: "c"})
	if err != nil || len(got) != 7 || len(s.asked) != 8 || s.asked[3].Get("collection") != "c" {
		t.Errorf("got %v, %v, asked %v", paths(got), err, s.asked)
	}
}

// Seeds are asked for twenty at a time, and a file of several is one.
func TestManySeeds(t *testing.T) {
	s, api := serve(t, many(45)...)
	s.most, s.seeds = 250, map[string][]string{}
	var q Query
	for i := range 45 {
		q.Seeds = append(q.Seeds, fmt.Sprint("s", i))
		s.seeds[fmt.Sprint("s", i)] = []string{fmt.Sprint(i), "0", "44"}
	}
	got, err := api.Warcs(t.Context(), q)
	if err != nil || len(got) != 45 || len(s.asked) != 3 || strings.Count(s.asked[0].Get("seed"), ",") != 19 {
		t.Errorf("got %d, %v, asked %v", len(got), err, s.asked)
	}
}

// A list that changes while it is read loses no file: what was on page two is on page one afterwards.
func TestShiftingPages(t *testing.T) {
	s, api := serve(t, many(6)...)
	times := 0
	s.odd = func(http.ResponseWriter, *http.Request) bool {
		if times++; times == 2 { // before the second page
			s.warcs = append(s.warcs[1:], Warc{ID: "new", Path: "/w/new"})
		}
		return false
	}
	got, err := api.Warcs(t.Context(), Query{Collection: "c"})
	if err != nil || len(got) != 7 {
		t.Errorf("got %v, %v", paths(got), err)
	}
}

// A server that cannot answer now is asked again, one that will not is not.
func TestServerErrors(t *testing.T) {
	for _, test := range []struct {
		status, times, asked int
		ok                   bool
	}{{503, 2, 3, true}, {429, 1, 2, true}, {500, 9, 5, false}, {404, 9, 1, false}, {400, 1, 1, false}} {
		s, api := serve(t, many(1)...)
		left := test.times
		s.odd = func(w http.ResponseWriter, _ *http.Request) bool {
			if left--; left >= 0 {
				w.WriteHeader(test.status)
			}
			return left >= 0
		}
		var log bytes.Buffer
		api.Log = slog.New(slog.NewTextHandler(&log, nil))
		got, err := api.Warcs(t.Context(), Query{Collection: "c"})
		if n := strings.Count(log.String(), `msg="asking again" list=warcs try=`); n != test.asked-1 {
			t.Errorf("%d: asked %d times, logged %d: %s", test.status, test.asked, n, log.String())
		}
		if (err == nil && len(got) == 1) != test.ok || len(s.asked) != test.asked {
			t.Errorf("%d: got %v, %v, asked %d times", test.status, got, err, len(s.asked))
		}
	}
}

// Answers that make no sense are errors, and none is without end.
func TestBadAnswers(t *testing.T) {
	for _, body := range []string{
		`<html>`, `[]`, `{"count":1,"results":[{"path":"/a"}]}`, `{"count":1,"results":7}`,
		`{"count":1,"next":"http://h/?offset=%d","results":[{"warc_id":"a","path":"/a"}]}`,
		`{"count":1,"next":"http://h/?offset=%d","results":[]}`,
		`{"count":1,"next":"http://h/?offset=1","results":[{"warc_id":"a","path":"/a"}]}`,
	} {
		s, api := serve(t)
		s.odd = func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = fmt.Fprint(w, strings.Replace(body, "%d", fmt.Sprint(len(s.asked)), 1))
			return true
		}
		if got, err := api.Warcs(t.Context(), Query{Collection: "c"}); err == nil || len(s.asked) > 9 {
			t.Errorf("%s: got %v, asked %d times", body, got, len(s.asked))
		}
	}
}

// A list that never ends, and always brings something new, is given up.
func TestEndlessList(t *testing.T) {
	s, api := serve(t)
	s.odd = func(w http.ResponseWriter, _ *http.Request) bool {
		n := len(s.asked)
		_, _ = fmt.Fprintf(w, `{"count":1,"next":"http://h/?offset=%d","results":[{"warc_id":"%d","path":"/%d"}]}`, n, n, n)
		return true
	}
	if got, err := api.Warcs(t.Context(), Query{Collection: "c"}); err == nil || !strings.Contains(err.Error(), "has no end") || len(s.asked) > 300 {
		t.Errorf("got %d, %v, asked %d times", len(got), err, len(s.asked))
	}
}

// Addresses are those of an HTTP server, with or without the root of the API.
func TestAPIAddress(t *testing.T) {
	for text, want := range map[string]string{"http://api:8080": "http://api:8080/api/v1/", "https://a/sfm/": "https://a/sfm/api/v1/",
		"http://a/api/v1/": "http://a/api/v1/", "api:8080": "", "ftp://a/": "", "http://": ""} {
		got := ""
		if api, err := NewAPI(text); err == nil {
			got = api.base.String()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// An answer does not send elsewhere, and it is not asked for again; on the same host it may.
func TestRedirects(t *testing.T) {
	other, _ := serve(t, many(1)...)
	s, api := serve(t, many(1)...)
	s.odd = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+r.URL.Path, http.StatusFound)
		return true
	}
	if got, err := api.Warcs(t.Context(), Query{Collection: "c"}); err == nil || len(other.asked) > 0 || len(s.asked) != 1 {
		t.Errorf("got %v, %v, asked %v and %v", got, err, s.asked, other.asked)
	}
	if api.Has(t.Context(), "0") || len(other.asked) > 0 {
		t.Errorf("asked %v", other.asked)
	}
	s.odd = func(w http.ResponseWriter, r *http.Request) bool {
		if r.FormValue("again") == "" {
			http.Redirect(w, r, r.URL.RequestURI()+"&again=1", http.StatusFound)
			return true
		}
		return false
	}
	if got, err := api.Warcs(t.Context(), Query{Collection: "c"}); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}
