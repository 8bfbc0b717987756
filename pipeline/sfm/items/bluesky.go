package items

import (
	"strconv"
	"strings"
	"time"
)

// blueskyFormats are those of the feed of an author.
func blueskyFormats() []format {
	return []format{{
		match:    func(t target) bool { return strings.HasSuffix(t.path, "/app.bsky.feed.getAuthorFeed") },
		document: (*page).authorFeed,
	}}
}

// jetstreamFormats are those of the stream of everything, recorded in lines.
func jetstreamFormats() []format {
	return []format{{
		match: func(t target) bool {
			return strings.HasPrefix(t.url.Scheme, "ws") && strings.HasSuffix(t.path, "/subscribe") || strings.HasSuffix(t.path, "/network.bsky.jetstream.subscribeEvents")
		},
		document: (*page).commit,
	}}
}

// authorFeed reads {"feed":[{"post":{…},"reason":…}]}; the posts are the items, those of others
// that the author passed on with them.
func (p *page) authorFeed(c *cursor) {
	c.object(func(key []byte) {
		if string(key) != "feed" {
			return
		}
		c.array(func() {
			c.object(func(key []byte) {
				if string(key) == "post" {
					p.blueskyPost(c)
				}
			})
		})
	})
}

// blueskyPost reads a post. Its date is what its author says, else when it was seen.
func (p *page) blueskyPost(c *cursor) {
	i := Item{Kind: BlueskyPost}
	var indexed time.Time
	i.Raw = c.whole(func(key []byte) {
		switch string(key) {
		case "uri":
			i.ID = c.text()
		case "author":
			c.object(func(key []byte) {
				if string(key) == "did" {
					i.Owner = c.text()
				}
			})
		case "record":
			c.object(func(key []byte) { i.created(c, key) })
		case "indexedAt":
			indexed = isoDate(c.text())
		}
	})
	if i.Date.IsZero() {
		i.Date = indexed
	}
	if c.err == nil {
		p.emit(i)
	}
}

// created reads the date of a record.
func (i *Item) created(c *cursor, key []byte) {
	if string(key) == "createdAt" {
		i.Date = isoDate(c.text())
	}
}

// commit reads an event of the stream. Posts that were made or changed are the items; what else
// there is, and what was removed, is none.
func (p *page) commit(c *cursor) {
	i := Item{Kind: BlueskyPost}
	var collection, key string
	var seen time.Time
	i.Raw = c.whole(func(name []byte) {
		switch string(name) {
		case "did":
			i.Owner = c.text()
		case "time_us":
			us, _ := strconv.ParseInt(c.text(), 10, 64)
			seen = time.UnixMicro(us).UTC()
		case "commit":
			collection, key = i.commitOf(c)
		}
	})
	if i.Date.IsZero() {
		i.Date = seen
	}
	if c.err == nil && i.Owner != "" && collection == "app.bsky.feed.post" && key != "" {
		i.ID = "at://" + i.Owner + "/" + collection + "/" + key
		p.emit(i)
	}
}

// commitOf reads the commit of an event; the key is "" when it has no record.
func (i *Item) commitOf(c *cursor) (collection, key string) {
	recorded := false
	c.object(func(name []byte) {
		switch string(name) {
		case "collection":
			collection = c.text()
		case "rkey":
			key = c.text()
		case "record":
			recorded = true
			c.object(func(name []byte) { i.created(c, name) })
		}
	})
	if !recorded {
		key = ""
	}
	return collection, key
}
