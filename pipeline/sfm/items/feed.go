package items

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
)

// feedFormats are those of RSS 2.0 and 1.0, Atom 1.0 and JSON Feed 1.1.
func feedFormats() []format {
	return []format{{
		match: func(t target) bool { return t.path != "/robots.txt" },
		body:  (*page).feed,
	}}
}

// feed reads a feed. Of a file that does not say it is of a harvest of feeds, only what calls
// itself one is read.
func (p *page) feed(body io.Reader) error {
	kinds := []string{"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"}
	if !p.asked && !slices.Contains(kinds, p.media) {
		return nil
	}
	in := bufio.NewReader(&io.LimitedReader{R: body, N: int64(p.lines.most)})
	start, err := in.Peek(512)
	start = bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case len(start) == 0:
		return ignoreEOF(err)
	case start[0] == '{':
		return p.json(format{document: (*page).jsonFeed}, in)
	}
	return p.xmlFeed(in)
}

// jsonFeed reads {"version":…,"items":[…]}.
func (p *page) jsonFeed(c *cursor) {
	c.object(func(key []byte) {
		if string(key) == "items" {
			c.array(func() { p.jsonFeedItem(c) })
		}
	})
}

func (p *page) jsonFeedItem(c *cursor) {
	i := Item{Kind: FeedItem, Owner: p.target.uri, Scope: p.target.uri}
	address := ""
	i.Raw = c.whole(func(key []byte) {
		switch string(key) {
		case "id":
			i.ID = c.text()
		case "url":
			address = c.text()
		case "date_published":
			i.Date = isoDate(c.text())
		case "date_modified":
			if modified := isoDate(c.text()); i.Date.IsZero() {
				i.Date = modified
			}
		}
	})
	if c.err == nil {
		i.ID = identified(i.ID, address, i.Raw)
		p.emit(i)
	}
}

// identified is the id of an item, else its address, else a digest of all of it.
func identified(id, address string, raw []byte) string {
	switch {
	case id != "":
		return id
	case address != "":
		return address
	}
	sum := sha256.Sum256(raw)
	return "urn:sha256:" + hex.EncodeToString(sum[:])
}

// A feedItem is an item of JSON Feed 1.1, as those of other feeds are given.
type feedItem struct {
	ID            string           `json:"id"`
	URL           string           `json:"url,omitempty"`
	Title         string           `json:"title,omitempty"`
	ContentHTML   string           `json:"content_html,omitempty"`
	ContentText   string           `json:"content_text,omitempty"`
	Summary       string           `json:"summary,omitempty"`
	DatePublished string           `json:"date_published,omitempty"`
	DateModified  string           `json:"date_modified,omitempty"`
	Authors       []feedAuthor     `json:"authors,omitempty"`
	Tags          []string         `json:"tags,omitempty"`
	Attachments   []feedAttachment `json:"attachments,omitempty"`
}

type feedAuthor struct {
	Name string `json:"name,omitempty"`
	URL  string `json:"url,omitempty"`
}

type feedAttachment struct {
	URL  string `json:"url"`
	Type string `json:"mime_type,omitempty"`
	Size int64  `json:"size_in_bytes,omitempty"`
}

// emitFeed yields an item of a feed in XML.
func (p *page) emitFeed(f feedItem) error {
	i := Item{Kind: FeedItem, Owner: p.target.uri, Scope: p.target.uri, Date: isoDate(f.DatePublished)}
	if i.Date.IsZero() {
		i.Date = isoDate(f.DateModified)
	}
	if f.ID == "" && f.URL == "" {
		text, err := compact(f)
		if err != nil {
			return err
		}
		f.ID = identified("", "", text)
	}
	first(&f.ID, f.URL)
	text, err := compact(f)
	if err != nil {
		return err
	}
	i.ID, i.Raw = f.ID, text
	if err := p.yield(i); err != nil {
		return stop{err}
	}
	return nil
}

// compact is JSON as people would write it: without escapes for HTML.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
