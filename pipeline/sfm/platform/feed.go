package platform

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html/charset"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
)

// feed harvests feeds: RSS, Atom and JSON Feed. A seed has the address of one as token. A feed
// that has not changed is not sent again. RFC 9110 §13.1; RFC 5005 §3 and "JSON Feed 1.1",
// next_url, for feeds of several pages, of which the option pages allows as many.
func feed() *harvest.Type {
	return &harvest.Type{Name: "feed", Platform: "feed", Service: "Feed Harvester", Module: "feed_harvester", MinSeeds: 1, MaxSeeds: -1, Apart: true, Check: plainTokens,
		Walk: func(ctx context.Context, w *harvest.Walk) error {
			return each(ctx, w, func(ctx context.Context, seed sfm.Seed) error { return feedSeed(ctx, w, seed) })
		}}
}

// A validator is what a server knows a version of a feed by.
type validator struct {
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`
}

// header asks for a feed only if it is another one by now.
func (v validator) header() http.Header {
	h := http.Header{"Accept": {"application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9, application/json;q=0.9, */*;q=0.5"}}
	if v.ETag != "" {
		h.Set("If-None-Match", v.ETag)
	}
	if v.LastModified != "" {
		h.Set("If-Modified-Since", v.LastModified)
	}
	return h
}

func feedSeed(ctx context.Context, w *harvest.Walk, seed sfm.Seed) error {
	at := webAddress(w, seed)
	var known validator
	if w.Flag("incremental", true) {
		w.State("feed."+at, &known)
	}
	t := &trip{w: w, public: public, inside: w.Flag("private_addresses", false), trusted: true}
	first, err := t.to(ctx, harvest.Request{URL: at, Header: known.header()})
	if err != nil {
		return feedTrouble(ctx, w, seed, err)
	}
	if first.Status == http.StatusNotModified {
		return nil
	}
	if err := feedPages(ctx, w, t, first); err != nil {
		return feedTrouble(ctx, w, seed, err)
	}
	w.Keep("feed."+at, validator{first.Header.Get("ETag"), first.Header.Get("Last-Modified")})
	return nil
}

// feedPages looks whether a page is a whole feed, and goes on to the next.
func feedPages(ctx context.Context, w *harvest.Walk, t *trip, a *harvest.Answer) error {
	seen := map[string]bool{a.URL: true}
	for left := amount(w, "pages", 1); ; left-- {
		next, err := readFeed(a)
		if err != nil || next == "" || left <= 1 {
			return err
		}
		if seen[next] {
			return fmt.Errorf("cannot walk the pages to their end: the page %q comes again", nameOf(next))
		}
		seen[next] = true
		if err := w.Next(ctx); err != nil {
			return err
		}
		if a, err = t.to(ctx, harvest.Request{URL: next, Header: validator{}.header()}); err != nil {
			return err
		}
	}
}

// feedTrouble makes a warning of what is about one feed and will not be better at the next try.
func feedTrouble(ctx context.Context, w *harvest.Walk, seed sfm.Seed, err error) error {
	switch status := statusOf(err); {
	case final(ctx, err):
	case status == 404 || status == 410:
		return &seedError{notFound, err.Error()}
	case status == 401 || status == 403:
		return &seedError{unauthorized, err.Error()}
	case status != 0 || errors.Is(err, errNoFeed) || errors.Is(err, errPrivate) || errors.Is(err, errAddress) || errors.Is(err, errCircle):
		w.Warn("feed_unreadable", err.Error(), seed.ID)
		return nil
	}
	return err
}

// errNoFeed is a document that is no feed, or not all of one.
var errNoFeed = errors.New("it is no whole feed")

// readFeed looks whether a document is a feed, from its first to its last byte, and returns
// where the next page is, or "".
func readFeed(a *harvest.Answer) (next string, err error) {
	if a.Status != http.StatusOK {
		return "", fmt.Errorf("cannot get %q: %w", nameOf(a.URL), &statusError{status: a.Status})
	}
	if a.Cut {
		return "", fmt.Errorf("cannot read %q: it is too long: %w", nameOf(a.URL), errNoFeed)
	}
	if body := bytes.TrimSpace(a.Body); bytes.HasPrefix(body, []byte("{")) {
		next, err = readJSONFeed(body)
	} else {
		next, err = readXMLFeed(body)
	}
	if err != nil {
		return "", fmt.Errorf("cannot read %q: %w", nameOf(a.URL), err)
	}
	if next == "" {
		return "", nil
	}
	from, err := url.Parse(a.URL)
	if err != nil {
		return "", err
	}
	to, err := from.Parse(next)
	if err != nil {
		return "", nil // a next page nobody can get is none
	}
	return to.String(), nil
}

func readJSONFeed(body []byte) (string, error) {
	var f struct {
		Version string
		Items   []json.RawMessage
		Next    string `json:"next_url"`
	}
	if err := json.Unmarshal(body, &f); err != nil {
		return "", fmt.Errorf("%w: %w", errNoFeed, err)
	}
	if !strings.HasPrefix(f.Version, "https://jsonfeed.org/version/") || f.Items == nil {
		return "", errNoFeed
	}
	return f.Next, nil
}

func readXMLFeed(body []byte) (next string, err error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Strict, d.Entity, d.CharsetReader = false, xml.HTMLEntity, charset.NewReaderLabel
	depth, began := 0, false
	for {
		token, err := d.Token()
		if err == io.EOF && depth == 0 && began {
			return next, nil
		}
		if err != nil {
			return "", fmt.Errorf("%w: %w", errNoFeed, err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if name := e.Name.Local; depth == 0 && name != "rss" && name != "RDF" && name != "feed" {
				return "", errNoFeed
			}
			depth, began = depth+1, true
			if depth <= 3 && e.Name.Local == "link" && attribute(e, "rel") == "next" {
				next = attribute(e, "href")
			}
		case xml.EndElement:
			depth--
		}
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// webAddress is the address a seed names. One that begins with a slash is under the option
// api_base; without a scheme it is one of http.
func webAddress(w *harvest.Walk, seed sfm.Seed) string {
	at := strings.TrimSpace(label(seed))
	before, _, colon := strings.Cut(at, ":")
	switch {
	case strings.HasPrefix(at, "/"):
		return w.Base() + at
	case !colon, strings.Contains(before, "."): // a host with a port, not a scheme
		return "http://" + at
	}
	return at
}
