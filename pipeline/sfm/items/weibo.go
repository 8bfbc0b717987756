package items

import "strings"

// weiboFormats are those of timelines and searches.
func weiboFormats() []format {
	return []format{{
		hosts:    []string{"api.weibo.com"},
		match:    func(t target) bool { return strings.Contains(t.path, "/2/") },
		document: (*page).weibos,
	}}
}

// weibos reads {"statuses":[…]}. Answers with an error have none.
func (p *page) weibos(c *cursor) {
	c.object(func(key []byte) {
		if string(key) == "statuses" {
			c.array(func() { p.weibo(c) })
		}
	})
}

func (p *page) weibo(c *cursor) {
	i := Item{Kind: WeiboStatus}
	i.Raw = c.whole(func(key []byte) {
		switch string(key) {
		case "mid":
			i.ID = c.text()
		case "created_at":
			i.Date = rubyDate(c.text())
		case "user":
			c.object(func(key []byte) {
				if string(key) == "idstr" {
					i.Owner = c.text()
				}
			})
		}
	})
	if c.err == nil {
		p.emit(i)
	}
}
