package export

import "github.com/valyala/fastjson"

// twitter2Columns are of a status of version 2 of the API with what it refers to put into it, by
// the names of twarc-csv, which SFM 3 exports.
func twitter2Columns() []column {
	all := []column{{"id", itemID}, {"conversation_id", at("conversation_id")}}
	for _, kind := range []string{"replied_to", "retweeted", "quoted"} {
		all = append(all, column{"referenced_tweets." + kind + ".id", referenced(kind, "id")})
	}
	all = append(all, plain("author_id in_reply_to_user_id")...)
	all = append(all, column{"in_reply_to_username", at("in_reply_to_user.username")})
	for _, kind := range []string{"retweeted", "quoted"} {
		all = append(all, column{kind + "_user_id", referenced(kind, "author_id")}, column{kind + "_username", referenced(kind, "author", "username")})
	}
	all = append(all, column{"created_at", either(at("created_at"), itemDate)}, column{"text", tweet2Text})
	return append(all, plain(`lang source
		public_metrics.impression_count public_metrics.reply_count public_metrics.retweet_count public_metrics.quote_count public_metrics.like_count
		reply_settings edit_history_tweet_ids edit_controls.edits_remaining edit_controls.editable_until edit_controls.is_edit_eligible
		possibly_sensitive withheld.scope withheld.copyright withheld.country_codes
		entities.annotations entities.cashtags entities.hashtags entities.mentions entities.urls context_annotations
		attachments.media attachments.media_keys attachments.poll.duration_minutes attachments.poll.end_datetime attachments.poll.id
		attachments.poll.options attachments.poll.voting_status attachments.poll_ids
		author.id author.created_at author.username author.name author.description author.entities.description.cashtags
		author.entities.description.hashtags author.entities.description.mentions author.entities.description.urls author.entities.url.urls
		author.url author.location author.pinned_tweet_id author.profile_image_url author.protected
		author.public_metrics.followers_count author.public_metrics.following_count author.public_metrics.listed_count author.public_metrics.tweet_count
		author.verified author.verified_type author.withheld.scope author.withheld.copyright author.withheld.country_codes
		geo.coordinates.coordinates geo.coordinates.type geo.country geo.country_code geo.full_name geo.geo.bbox geo.geo.type geo.id geo.name
		geo.place_id geo.place_type matching_rules`)...)
}

// reference is the status referred to in that way, or nil.
func reference(status *fastjson.Value, kind string) *fastjson.Value {
	for _, v := range arrayAt(status, "referenced_tweets") {
		if stringAt(v, "type") == kind {
			return v
		}
	}
	return nil
}

func referenced(kind string, path ...string) getter {
	return func(d *document) cell { return cellOf(reference(d.root, kind).Get(path...)) }
}

// tweet2Text is the whole text, also of what was passed on, which the API cuts off.
func tweet2Text(d *document) cell {
	again := reference(d.root, "retweeted")
	whole, who := stringAt(again, "text"), stringAt(again, "author.username")
	if whole == "" || who == "" {
		return cellOf(d.root.Get("text"))
	}
	return textCell("RT @" + who + ": " + whole)
}
