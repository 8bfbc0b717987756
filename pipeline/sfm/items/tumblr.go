package items

import (
	"strings"
	"time"
)

// tumblrFormats are those of the posts of a blog.
func tumblrFormats() []format {
	return []format{{
		hosts:    []string{"api.tumblr.com"},
		match:    func(t target) bool { return strings.Contains(t.path, "/blog/") && strings.Contains(t.path, "/posts") },
		document: (*page).tumblrPosts,
	}}
}

// tumblrPosts reads {"meta":…,"response":{"blog":…,"posts":[…]}}.
func (p *page) tumblrPosts(c *cursor) {
	c.object(func(key []byte) {
		if string(key) != "response" {
			return
		}
		c.object(func(key []byte) {
			if string(key) == "posts" {
				c.array(func() { p.tumblrPost(c) })
			}
		})
	})
}

func (p *page) tumblrPost(c *cursor) {
	i := Item{Kind: TumblrPosts}
	i.Raw = c.whole(func(key []byte) {
		switch string(key) {
		case "id":
			i.ID = c.text()
		case "blog_name":
			i.Owner = c.text()
		case "date":
			t, _ := time.Parse("2006-01-02 15:04:05 MST", c.text())
			i.Date = t.UTC()
		}
	})
	if c.err == nil {
		p.emit(i)
	}
}
