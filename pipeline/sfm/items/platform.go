package items

import (
	"io"
	"net/url"
	"slices"
	"strings"

	"srpump/pipeline/warc"
)

// A platform is what a harvest type is of, and how its records are read.
type platform struct {
	types   []string // harvest types
	kinds   []string
	label   string
	formats []format
}

// platforms are all that there are. Their order is that in which formats are tried.
func platforms() []platform {
	return []platform{
		{[]string{"twitter_search", "twitter_user_timeline", "twitter_filter", "twitter_sample"}, []string{TwitterStatus}, "tweets", twitterFormats()},
		{[]string{"twitter_search_2", "twitter_user_timeline_2", "twitter_academic_search", "twitter_filter_stream"}, []string{TwitterStatus}, "tweets", twitter2Formats()},
		{[]string{"flickr_user"}, []string{FlickrPhoto, FlickrSizes}, "flickr photos", flickrFormats()},
		{[]string{"tumblr_blog_posts"}, []string{TumblrPosts}, "tumblr posts", tumblrFormats()},
		{[]string{"weibo_timeline", "weibo_search"}, []string{WeiboStatus}, "weibos", weiboFormats()},
		{[]string{"mastodon_timeline"}, []string{MastodonStatus}, "mastodon statuses", mastodonFormats()},
		{[]string{"mastodon_stream"}, []string{MastodonStatus}, "mastodon statuses", mastodonStreamFormats()},
		{[]string{"bluesky_author"}, []string{BlueskyPost}, "bluesky posts", blueskyFormats()},
		{[]string{"bluesky_jetstream"}, []string{BlueskyPost}, "bluesky posts", jetstreamFormats()},
		{[]string{"feed"}, []string{FeedItem}, "feed items", feedFormats()},
		{[]string{"web"}, nil, "web resources", nil},
	}
}

// own are the formats, which know the types of their platform.
func (p platform) own() []format {
	for i := range p.formats {
		p.formats[i].types = p.types
	}
	return p.formats
}

// A format is how the answers to some requests are read.
type format struct {
	types []string // harvest types it belongs to
	hosts []string // where the platform is; nil is anywhere
	match func(target) bool
	// document reads one JSON value, the whole body or one line of it.
	document func(*page, *cursor)
	// body reads what is not JSON; nil reads JSON.
	body func(*page, io.Reader) error
}

// A target is an address, taken apart.
type target struct {
	uri  string
	url  *url.URL
	path string
}

func targetOf(rec *warc.Record) target {
	t := target{uri: rec.URI()}
	u, err := url.Parse(t.uri)
	if err != nil {
		u = &url.URL{}
	}
	t.url, t.path = u, u.Path
	return t
}

// about is what a file says of the harvest it is from.
type about struct {
	harvest string // type
	base    string // of the API
}

// maxInfo is how much of a warcinfo record is read, in bytes.
const maxInfo = 64 << 10

// aboutOf reads the fields sfm-type and sfm-api-base of a warcinfo record.
func aboutOf(rec *warc.Record) about {
	block, _ := io.ReadAll(io.LimitReader(rec.Block, maxInfo)) // what is damaged is reported by its reader
	var a about
	for line := range strings.Lines(string(block)) {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); strings.ToLower(name) {
		case "sfm-type":
			a.harvest = value
		case "sfm-api-base":
			a.base = value
		}
	}
	return a
}

// is tells whether a record is of this format. A file that says of which API base it is has its
// items at that host and nowhere else.
func (f *format) is(t target, a about) bool {
	if a.harvest != "" && !slices.Contains(f.types, a.harvest) {
		return false
	}
	if f.hosts != nil && !f.at(t, a.base) {
		return false
	}
	return f.match(t)
}

func (f *format) at(t target, base string) bool {
	if b, err := url.Parse(base); err == nil && b.Host != "" {
		return b.Host == t.url.Host
	}
	return slices.Contains(f.hosts, t.url.Hostname())
}
