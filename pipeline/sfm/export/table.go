package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fastjson"

	"srpump/pipeline/sfm/items"
)

// A table is how the items of a platform are put into columns.
type table struct {
	platform string // word of routing keys
	service  string // the name in statuses
	types    []string
	kind     string // of the items; others that go with them are left out
	columns  []column
}

type column struct {
	name string
	of   getter
}

// tables are all that there are.
func tables() []*table {
	return []*table{
		{"twitter", "Twitter Exporter", []string{"twitter_search", "twitter_user_timeline", "twitter_filter", "twitter_sample"}, items.TwitterStatus, twitterColumns()},
		{"twitter2", "Twitter Exporter", []string{"twitter_search_2", "twitter_user_timeline_2", "twitter_academic_search", "twitter_filter_stream"}, items.TwitterStatus, twitter2Columns()},
		{"flickr", "Flickr Exporter", []string{"flickr_user"}, items.FlickrPhoto, flickrColumns()},
		{"tumblr", "Tumblr Exporter", []string{"tumblr_blog_posts"}, items.TumblrPosts, tumblrColumns()},
		{"weibo", "Weibo Exporter", []string{"weibo_timeline", "weibo_search"}, items.WeiboStatus, weiboColumns()},
		{"mastodon", "Mastodon Exporter", []string{"mastodon_timeline", "mastodon_stream"}, items.MastodonStatus, mastodonColumns()},
		{"bluesky", "Bluesky Exporter", []string{"bluesky_author", "bluesky_jetstream"}, items.BlueskyPost, blueskyColumns()},
		{"feed", "Feed Exporter", []string{"feed"}, items.FeedItem, feedColumns()},
	}
}

// tableFor is the table of a harvest type, or nil.
func tableFor(harvestType string) *table {
	for _, t := range tables() {
		if slices.Contains(t.types, harvestType) {
			return t
		}
	}
	return nil
}

// Types are the harvest types that can be exported.
func Types() []string {
	var all []string
	for _, t := range tables() {
		all = append(all, t.types...)
	}
	return all
}

// tableOf is the table an item belongs in. Version 2 of the Twitter API names the author of a
// status author_id, version 1.1 gives the user.
func tableOf(i *items.Item) *table {
	for _, t := range tables() {
		if t.kind == i.Kind && (i.Kind != items.TwitterStatus || (t.platform == "twitter") == fastjson.Exists(i.Raw, "id_str")) {
			return t
		}
	}
	return nil
}

// names are the heads of the columns.
func (t *table) names() []string {
	var all []string
	for _, c := range t.columns {
		all = append(all, c.name)
	}
	return all
}

// cells appends the row of an item.
func (t *table) cells(row []cell, p *fastjson.Parser, i *items.Item) ([]cell, error) {
	root, err := p.ParseBytes(i.Raw)
	if err != nil {
		return row, fmt.Errorf("cannot put %q into columns: %w", i.ID, err)
	}
	d := &document{i, root}
	for _, c := range t.columns {
		row = append(row, c.of(d))
	}
	return row, nil
}

// plain are columns that are named as the path of what they hold.
func plain(paths string) []column {
	var all []column
	for _, p := range strings.Fields(paths) {
		all = append(all, column{p, at(p)})
	}
	return all
}
