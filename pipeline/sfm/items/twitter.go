package items

import (
	"strings"
	"time"
)

// twitterFormats are those of version 1.1 of the API: search, timelines and streams.
func twitterFormats() []format {
	return []format{{
		hosts: []string{"api.twitter.com", "stream.twitter.com"},
		match: func(t target) bool {
			return strings.Contains(t.path, "/search/tweets.json") || strings.Contains(t.path, "/statuses/user_timeline.json") ||
				strings.Contains(t.path, "/statuses/filter.json") || strings.Contains(t.path, "/statuses/sample.json")
		},
		document: func(p *page, c *cursor) {
			if c.peek() == '[' {
				c.array(func() { p.tweet(c, false) })
				return
			}
			p.tweet(c, true)
		},
	}}
}

// tweet reads a status, or, when it is the whole answer, that to a search, which has several.
// Notices of streams, and errors, have no id.
func (p *page) tweet(c *cursor, whole bool) {
	i := Item{Kind: TwitterStatus}
	i.Raw = c.whole(func(key []byte) {
		switch string(key) {
		case "id_str":
			i.ID = c.text()
		case "created_at":
			i.Date = rubyDate(c.text())
		case "user":
			c.object(func(key []byte) {
				if string(key) == "id_str" {
					i.Owner = c.text()
				}
			})
		case "statuses":
			if whole {
				c.array(func() { p.tweet(c, false) })
			}
		}
	})
	if c.err == nil {
		p.emit(i)
	}
}

// rubyDate is "Wed Oct 10 20:19:24 +0000 2018".
func rubyDate(s string) time.Time {
	t, _ := time.Parse(time.RubyDate, s)
	return t.UTC()
}

// isoDate is RFC 3339.
func isoDate(s string) time.Time {
	t, _ := time.Parse(time.RFC3339, s)
	return t.UTC()
}
