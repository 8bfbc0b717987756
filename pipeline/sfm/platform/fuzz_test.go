package platform

import (
	"net/url"
	"testing"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
)

// A document from anywhere is read as a feed, or it is none; where it leads to is an address.
func FuzzFeed(f *testing.F) {
	for _, text := range []string{`<rss version="2.0"><channel><link rel="next" href="?2"/></channel></rss>`, `{"version":"https://jsonfeed.org/version/1","next_url":"x"}`,
		"<feed xmlns='http://www.w3.org/2005/Atom'><link rel='next' href=':'/></feed>", "<rss><a>&nbsp;</b></rss>", `<?xml version="1.0" encoding="utf-16"?><rss/>`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		next, err := readFeed(&harvest.Answer{URL: "http://example.org/feed", Status: 200, Body: body})
		if err != nil && next != "" {
			t.Errorf("%q and %v", next, err)
		}
		if _, err := url.Parse(next); err != nil {
			t.Error(err)
		}
	})
}

// A token from anywhere is a name, a search, a rule and a filter, or it is none.
func FuzzToken(f *testing.F) {
	for _, text := range []string{`"joe@example.org"`, `"#tag@example.org:443"`, `{"query":"a","geocode":"1,2,3mi","limit":1e9}`, `{"track":["a",1],"rule":7}`, `12e5`, `null`, `"@@/"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		token := sfm.Token(raw)
		if name, err := parseFediverse(token.String()); err == nil {
			if u, err := url.Parse("https://" + name.host + "/"); err != nil || u.Path != "/" || u.User != nil {
				t.Errorf("%q has the host %q", raw, name.host)
			}
		}
		if s, err := parseSearch(token); err == nil && s.key() == "" {
			t.Error("a search without a key")
		}
		_ = ruleOf(sfm.Seed{Token: token})
		if form, err := filterParams(token); err == nil && len(form) == 0 {
			t.Error("a filter without anything")
		}
	})
}
