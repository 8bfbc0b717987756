package items

import (
	"encoding/json"
	"strconv"
	"time"
)

// flickrFormats are those of flickr.photos.getInfo and flickr.photos.getSizes.
func flickrFormats() []format {
	method := func(name string) func(target) bool {
		return func(t target) bool { return t.url.Query().Get("method") == name }
	}
	hosts := []string{"api.flickr.com", "www.flickr.com"}
	return []format{
		{hosts: hosts, match: method("flickr.photos.getInfo"), document: (*page).flickrPhoto},
		{hosts: hosts, match: method("flickr.photos.getSizes"), document: (*page).flickrSizes},
	}
}

// flickrPhoto reads {"photo":{…},"stat":"ok"}; the photo is the item.
func (p *page) flickrPhoto(c *cursor) {
	i := Item{Kind: FlickrPhoto}
	ok := answered(c, "photo", func() {
		i.Raw = c.whole(func(key []byte) {
			switch string(key) {
			case "id":
				i.ID = c.text()
			case "dates":
				c.object(func(key []byte) {
					if string(key) == "posted" {
						i.Date = epoch(c.text())
					}
				})
			case "owner":
				c.object(func(key []byte) {
					if string(key) == "nsid" {
						i.Owner = c.text()
					}
				})
			}
		})
	})
	if ok {
		p.emit(i)
	}
}

// flickrSizes reads {"sizes":{…},"stat":"ok"}, of the photo in the address.
func (p *page) flickrSizes(c *cursor) {
	i := Item{Kind: FlickrSizes, ID: p.target.url.Query().Get("photo_id")}
	ok := answered(c, "sizes", func() { i.Raw = json.RawMessage(c.raw()) })
	if ok && i.Raw != nil {
		p.emit(i)
	}
}

// answered reads an answer of Flickr, and tells whether it was a good one.
func answered(c *cursor, member string, value func()) bool {
	stat := "ok"
	c.object(func(key []byte) {
		switch string(key) {
		case member:
			value()
		case "stat":
			stat = c.text()
		}
	})
	return stat == "ok" && c.err == nil
}

// epoch is a count of seconds since 1970; zero when it is none.
func epoch(s string) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}
