package items

import (
	"encoding/json"
	"strings"
)

// twitter2Formats are those of version 2 of the API: search, timelines, mentions and streams.
func twitter2Formats() []format {
	return []format{{
		hosts: []string{"api.twitter.com", "api.x.com"},
		match: func(t target) bool {
			_, path, ok := strings.Cut(t.path, "/2/")
			return ok && (strings.HasPrefix(path, "tweets/") || strings.HasPrefix(path, "users/"))
		},
		document: (*page).tweets2,
	}}
}

// tweets2 reads {"data":…,"includes":…}, in which data is one status or several. Users, which
// the same addresses can have, have no text.
func (p *page) tweets2(c *cursor) {
	var data, includes, rules json.RawMessage
	c.object(func(key []byte) {
		switch string(key) {
		case "data":
			data = c.raw()
		case "includes":
			includes = c.raw()
		case "matching_rules":
			rules = c.raw()
		}
	})
	if c.err != nil || data == nil {
		return
	}
	all := elementsOf(data)
	if all == nil {
		all = []json.RawMessage{data}
	}
	in := includedOf(includes)
	for _, raw := range all {
		p.tweet2(in, raw, rules)
	}
}

func (p *page) tweet2(in *included, raw, rules json.RawMessage) {
	m := membersOf(raw)
	if m.get("text") == nil {
		return
	}
	in.room = maxGrowth
	i := Item{Kind: TwitterStatus, ID: textOf(m.get("id")), Owner: textOf(m.get("author_id")), Date: isoDate(textOf(m.get("created_at")))}
	if i.Raw = in.flatten(raw, 2); rules != nil {
		m := membersOf(i.Raw)
		m.set("matching_rules", rules)
		i.Raw = m.json()
	}
	p.emit(i)
}
