package items

import (
	"encoding/json"
	"time"
)

// The kinds of items.
const (
	TwitterStatus  = "twitter_status"
	FlickrPhoto    = "flickr_photo"
	FlickrSizes    = "flickr_sizes"
	WeiboStatus    = "weibo_status"
	TumblrPosts    = "tumblr_posts"
	MastodonStatus = "mastodon_status"
	BlueskyPost    = "bluesky_post"
	FeedItem       = "feed_item"
)

// An Item is one thing somebody put on a platform, as its API told of it.
type Item struct {
	Kind string
	// ID is the platform's own, Owner that of who put it there; for feeds the address of the feed.
	ID, Owner string
	// Scope is within what the ID is unique: "" on a platform that is one, a host or the address
	// of a feed on others.
	Scope string
	// Date is when it was put there; zero when that is not told.
	Date time.Time
	// Raw is the item as JSON, with line ends where the API had some; of feeds in XML, the members
	// of an item of JSON Feed 1.1. It is the receiver's to keep, but for a Reader that borrows.
	Raw json.RawMessage
}
