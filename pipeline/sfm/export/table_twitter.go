package export

import (
	"strings"
	"time"

	"github.com/valyala/fastjson"
)

// twitterColumns are of a status of version 1.1 of the API, by the names of twarc's table, which
// SFM 3 exports.
func twitterColumns() []column {
	all := []column{
		{"id", itemID},
		{"tweet_url", tweetPage},
		{"created_at", at("created_at")},
		{"parsed_created_at", itemDate},
		{"user_screen_name", at("user.screen_name")},
		{"text", tweetText},
		{"tweet_type", tweetType},
		{"coordinates", at("coordinates.coordinates")},
		{"hashtags", list(" ", "text", "extended_tweet.entities.hashtags", "entities.hashtags")},
		{"media", list(" ", "media_url_https", "extended_tweet.extended_entities.media", "extended_entities.media", "entities.media")},
		{"urls", list(" ", "expanded_url", "extended_tweet.entities.urls", "entities.urls")},
		{"favorite_count", at("favorite_count")},
		{"in_reply_to_screen_name", at("in_reply_to_screen_name")},
		{"in_reply_to_status_id", at("in_reply_to_status_id_str", "in_reply_to_status_id")},
		{"in_reply_to_user_id", at("in_reply_to_user_id_str", "in_reply_to_user_id")},
		{"lang", at("lang")},
		{"place", at("place.full_name")},
		{"possibly_sensitive", at("possibly_sensitive")},
		{"quote_id", at("quoted_status_id_str", "quoted_status_id")},
		{"retweet_count", at("retweet_count")},
		{"retweet_or_quote_id", at("retweeted_status.id_str", "quoted_status.id_str")},
		{"retweet_or_quote_screen_name", at("retweeted_status.user.screen_name", "quoted_status.user.screen_name")},
		{"retweet_or_quote_user_id", at("retweeted_status.user.id_str", "quoted_status.user.id_str")},
		{"source", at("source")},
		{"user_id", at("user.id_str", "user.id")},
		{"user_created_at", userCreated},
	}
	for _, name := range strings.Fields("default_profile_image description favourites_count followers_count friends_count listed_count location name statuses_count time_zone") {
		all = append(all, column{"user_" + name, at("user." + name)})
	}
	return append(all, column{"user_urls", list(" ", "expanded_url", "user.entities.url.urls")}, column{"user_verified", at("user.verified")})
}

func tweetPage(d *document) cell {
	name := stringAt(d.root, "user.screen_name")
	if name == "" {
		return cell{}
	}
	return textCell("https://twitter.com/" + name + "/status/" + d.item.ID)
}

// tweetText is the whole text, also of what was passed on, which the API cuts off.
func tweetText(d *document) cell {
	if again := d.root.Get("retweeted_status"); again.GetObject() != nil {
		if whole := wholeText(again); whole != "" {
			return textCell("RT @" + stringAt(again, "user.screen_name") + ": " + whole)
		}
	}
	return textCell(wholeText(d.root))
}

func wholeText(status *fastjson.Value) string {
	for _, path := range []string{"extended_tweet.full_text", "full_text", "text"} {
		if s := stringAt(status, path); s != "" {
			return s
		}
	}
	return ""
}

func tweetType(d *document) cell {
	switch {
	case d.root.GetObject("retweeted_status") != nil:
		return textCell("retweet")
	case d.root.GetObject("quoted_status") != nil:
		return textCell("quote")
	case at("in_reply_to_status_id_str", "in_reply_to_status_id")(d).sort != nothing:
		return textCell("reply")
	}
	return textCell("original")
}

func userCreated(d *document) cell {
	at, err := time.Parse(time.RubyDate, stringAt(d.root, "user.created_at"))
	if err != nil {
		return cellOf(d.root.Get("user", "created_at"))
	}
	return textCell(isoTime(at))
}
