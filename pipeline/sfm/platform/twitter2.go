package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"srpump/pipeline/sfm/harvest"
	"strconv"
	"strings"
	"time"
)

const twitter2Base = "https://api.twitter.com"

// twitterModule is where SFM's harvester keeps the state of both versions.
const twitterModule = "twitter_harvester"

// tweetTime is when a tweet was made, which its id says.
func tweetTime(id string) (time.Time, bool) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n <= 0 {
		return time.Time{}, false
	}
	const began = 1288834974657 // ms, of the first id of this kind
	return time.UnixMilli(n>>22 + began), true
}

// twitterFields ask for all there is about a tweet, and for what it refers to.
func twitterFields() []string {
	return []string{
		"expansions", "author_id,in_reply_to_user_id,referenced_tweets.id,referenced_tweets.id.author_id,entities.mentions.username," +
			"attachments.poll_ids,attachments.media_keys,geo.place_id",
		"tweet.fields", "attachments,author_id,context_annotations,conversation_id,created_at,edit_controls,edit_history_tweet_ids,entities,geo,id," +
			"in_reply_to_user_id,lang,possibly_sensitive,public_metrics,referenced_tweets,reply_settings,source,text,withheld",
		"user.fields", "created_at,description,entities,id,location,name,pinned_tweet_id,profile_image_url,protected,public_metrics,url,username,verified,withheld",
		"media.fields", "alt_text,duration_ms,height,media_key,preview_image_url,public_metrics,type,url,variants,width",
		"poll.fields", "duration_minutes,end_datetime,id,options,voting_status",
		"place.fields", "contained_within,country,country_code,full_name,geo,id,name,place_type",
	}
}

// A problem is one of the errors of version 2, which come with status 200 as well.
type problem struct {
	Title, Detail, Type, Parameter, Message, Value string
	Details                                        []string
	Parameters                                     map[string][]any
}

type tweets2 struct {
	Data []struct{ ID string }
	Meta struct {
		NextToken string `json:"next_token"`
	}
	Errors []problem
}

// twitterPage2 asks for a page of tweets.
func twitterPage2(ctx context.Context, w *harvest.Walk, path string, params []string) (page, error) {
	var a tweets2
	err := get(ctx, w, query(w.Base(), path, append(params, twitterFields()...)...), bearer(w.Credential("bearer_token")), &a)
	if err != nil {
		return page{}, twitterTrouble2(err)
	}
	if len(a.Data) == 0 && len(a.Errors) > 0 && strings.HasSuffix(a.Errors[0].Type, "/not-authorized-for-resource") {
		return page{}, &seedError{unauthorized, a.Errors[0].Detail}
	}
	p := page{next: a.Meta.NextToken}
	for _, t := range a.Data {
		p.add(t.ID)
	}
	return p, nil
}

// twitterTrouble2 finds out what an answer says no to: the cursor, the account whose token it
// is, or something else.
func twitterTrouble2(err error) error {
	var status *statusError
	if !errors.As(err, &status) {
		return err
	}
	var body struct {
		problem
		Errors []problem
	}
	_ = json.Unmarshal(status.body, &body) // else there is nothing to tell of it
	for _, p := range body.Errors {
		if p.Parameters["next_token"] != nil || p.Parameters["pagination_token"] != nil {
			return errRefused
		}
	}
	switch status.status {
	case 401, 402, 403:
		return harvest.Refuse("harvest_"+strings.ReplaceAll(body.Title, " ", "_"), "Twitter refuses the request: %s", body.Detail)
	}
	return fmt.Errorf("%w: %s", err, body.Detail)
}
