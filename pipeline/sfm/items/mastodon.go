package items

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// mastodonFormats are those of timelines: of accounts, of tags, of lists, and public ones.
func mastodonFormats() []format {
	return []format{{
		match: func(t target) bool {
			return strings.Contains(t.path, "/api/v1/timelines/") || strings.Contains(t.path, "/api/v1/accounts/") && strings.HasSuffix(t.path, "/statuses")
		},
		document: func(p *page, c *cursor) { c.array(func() { p.toot(c) }) },
	}}
}

// mastodonStreamFormats are those of streams of events.
func mastodonStreamFormats() []format {
	return []format{{
		match: func(t target) bool { return strings.Contains(t.path, "/api/v1/streaming") },
		body:  (*page).events,
	}}
}

// toot reads a status, whose id means something on its host only.
func (p *page) toot(c *cursor) {
	i := Item{Kind: MastodonStatus, Scope: p.target.url.Host}
	i.Raw = c.whole(func(key []byte) {
		switch string(key) {
		case "id":
			i.ID = c.text()
		case "created_at":
			i.Date = isoDate(c.text())
		case "account":
			c.object(func(key []byte) {
				if string(key) == "id" {
					i.Owner = c.text()
				}
			})
		}
	})
	if c.err == nil && i.Owner != "" {
		p.emit(i)
	}
}

// events reads the lines of a stream of events. Statuses are in the data of updates, and so are
// those of an event whose beginning is in another record; what is not, like the id of a status
// that was removed, is passed over.
func (p *page) events(body io.Reader) error {
	p.lines.reset(body)
	event := ""
	for err := error(nil); err == nil; {
		var text []byte
		text, err = p.lines.next()
		p.line++
		name, value, _ := bytes.Cut(text, []byte(":"))
		switch string(name) {
		case "":
			if len(text) == 0 {
				event = ""
			}
		case "event":
			event = string(bytes.TrimSpace(value))
		case "data":
			if stopped := p.eventData(event, bytes.TrimSpace(value)); stopped != nil {
				return stopped
			}
		}
		if err != nil {
			return ignoreEOF(err)
		}
	}
	return nil
}

func (p *page) eventData(event string, data []byte) error {
	if event != "" && event != "update" && event != "status.update" || len(data) == 0 || data[0] != '{' {
		return nil
	}
	err := p.document(format{document: (*page).toot}, data)
	if stopped := p.flush(); stopped != nil {
		return stopped
	}
	if err != nil {
		p.damaged(p.line, fmt.Sprintf("it cannot be read as JSON: %v", err))
	}
	return nil
}
