package apitest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// A Site has pages at paths, among them feeds, and answers conditional requests.
type Site struct {
	*Desk
	mu    sync.Mutex
	pages map[string]page
}

type page struct{ kind, body, tag string }

// OpenSite starts one without pages.
func OpenSite(t testing.TB) *Site {
	s := &Site{pages: make(map[string]page)}
	s.Desk = open(t, s.answer)
	return s
}

// Page puts a page there, or another one.
func (s *Site) Page(path, contentType, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = page{contentType, body, fmt.Sprintf(`"%d-%x"`, len(body), body[:min(len(body), 4)])}
}

func (s *Site) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	p, ok := s.pages[r.URL.RequestURI()]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", p.kind)
	w.Header().Set("ETag", p.tag)
	w.Header().Set("Last-Modified", "Sun, 01 Nov 2026 12:00:00 GMT")
	if r.Header.Get("If-None-Match") == p.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = io.WriteString(w, p.body)
}

// RSS is a feed of version 2.0 with these items, newest first, and a link to the next page
// (RFC 5005) when next is not "".
func RSS(next string, items ...string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>A feed</title>` +
		`<link>http://example.org/</link><description>Of tests</description>`)
	if next != "" {
		fmt.Fprintf(&b, `<atom:link rel="next" href="%s"/>`, next)
	}
	for _, it := range items {
		fmt.Fprintf(&b, "\n<item><title>%s</title><link>http://example.org/%s</link><guid isPermaLink=\"false\">%s</guid>"+
			"<pubDate>Sun, 01 Nov 2026 12:00:00 GMT</pubDate></item>", it, it, it)
	}
	b.WriteString("\n</channel></rss>\n")
	return b.String()
}
