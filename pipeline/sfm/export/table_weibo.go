package export

import (
	"strings"
	"unicode"
)

// weiboColumns are of a status, by the names of SFM's exporter.
func weiboColumns() []column {
	return []column{
		{"created_at", either(itemDate, at("created_at"))},
		{"weibo_id", itemID},
		{"screen_name", at("user.screen_name")},
		{"followers_count", at("user.followers_count")},
		{"friends_count", at("user.friends_count")},
		{"reposts_count", at("reposts_count")},
		{"topics", weiboTopics},
		{"in_reply_to_screen_name", at("in_reply_to_screen_name")},
		{"weibo_url", weiboPage},
		{"text", at("text")},
		{"url1", linkIn("text", 0)},
		{"url2", linkIn("text", 1)},
		{"retweeted_text", at("retweeted_status.text")},
		{"retweeted_url1", linkIn("retweeted_status.text", 0)},
		{"retweeted_url2", linkIn("retweeted_status.text", 1)},
	}
}

// weiboTopics are what stands between two number signs.
func weiboTopics(d *document) cell {
	parts := strings.Split(stringAt(d.root, "text"), "#")
	var all []string
	for i := 1; i+1 < len(parts); i += 2 {
		if topic := strings.TrimSpace(parts[i]); topic != "" {
			all = append(all, topic)
		}
	}
	return textCell(strings.Join(all, ", "))
}

func weiboPage(d *document) cell {
	if d.item.Owner == "" {
		return cell{}
	}
	return textCell("https://m.weibo.cn/" + d.item.Owner + "/" + d.item.ID)
}

// linkIn is one of the addresses in the text at a path, counted from 0.
func linkIn(path string, which int) getter {
	return func(d *document) cell {
		rest, seen := stringAt(d.root, path), 0
		for {
			from := strings.Index(rest, "http")
			if from < 0 {
				return cell{}
			}
			rest = rest[from:]
			end := strings.IndexFunc(rest, func(c rune) bool { return c > unicode.MaxASCII || unicode.IsSpace(c) || strings.ContainsRune(`"<>`, c) })
			if end < 0 {
				end = len(rest)
			}
			if link := rest[:end]; strings.HasPrefix(link, "http://") || strings.HasPrefix(link, "https://") {
				if seen == which {
					return textCell(link)
				}
				seen++
			}
			rest = rest[max(end, 4):]
		}
	}
}
