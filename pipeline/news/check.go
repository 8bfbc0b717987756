package news

import "strings"

// A Verdict is why a story is not to be archived, in one word as it is counted; "" is none.
type Verdict string

// The verdicts on addresses and pages, story-indexer's counters.
const (
	Good      Verdict = ""
	NoURL     Verdict = "no-url"
	BadURL    Verdict = "bad-url"
	NoHost    Verdict = "no-host"
	BadScheme Verdict = "bad-scheme"
	NonNews   Verdict = "non-news"
	BadHost   Verdict = "bad-host"
	NoHTML    Verdict = "no-html"
	Oversized Verdict = "oversized"
)

// MaxPage is the largest page that is taken, in bytes.
const MaxPage = 10_000_000

// Unknown is the URL of a story whose address is still to be taken from its page. It is
// neither archived nor indexed.
const Unknown = "http://mediacloud.org/need_canonical_url"

// CheckPage judges a page by its length in bytes.
func CheckPage(length int) Verdict {
	switch {
	case length == 0:
		return NoHTML
	case length > MaxPage:
		return Oversized
	}
	return Good
}

// CheckURL judges a URL: it is one of the web, and not of a site that has no news. Whether the
// host is reachable, or ought to be, is seen when it is dialled.
func CheckURL(url string) Verdict {
	if url == "" {
		return NoURL
	}
	a, err := parseAddress(strings.TrimSpace(url))
	switch {
	case err != nil:
		return BadURL
	case a.host == "":
		return NoHost
	case a.scheme != "http" && a.scheme != "https":
		return BadScheme
	case isNonNews(a.host):
		return NonNews
	case a.host == "localhost" || a.host == "127.0.0.1" || a.host == "[::1]":
		return BadHost
	}
	return Good
}

func isNonNews(host string) bool {
	const domains = "archive.org archive.ph booking.com etsy.com flickr.com goodreads.com iheart.com imdb.com instagram.com " +
		"linkedin.com pinterest.com slideshare.net tiktok.com twitter.com whatsapp.com wikidata.org wikimedia.org wikipedia.org youtube.com"
	host = strings.TrimSuffix(host, ".")
	for d := range strings.FieldsSeq(domains) {
		if host == d || strings.HasSuffix(host, "."+d) {
			return true
		}
	}
	return false
}
