package platform

import (
	"context"
	"fmt"
	"net/url"
	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
	"strings"
)

// twitterUserTimeline2 harvests the tweets of users. A seed has a screen name as token and an
// id as uid. API: X, version 2, "User lookup" and "User Posts timeline".
func twitterUserTimeline2() *harvest.Type {
	return &harvest.Type{Name: "twitter_user_timeline_2", Platform: "twitter2", Service: "Twitter Harvester", Module: twitterModule,
		APIBase: twitter2Base, MinSeeds: 1, MaxSeeds: -1, Secrets: []string{"bearer_token"},
		Walk: func(ctx context.Context, w *harvest.Walk) error {
			return each(ctx, w, func(ctx context.Context, seed sfm.Seed) error { return twitterUser2(ctx, w, seed) })
		}}
}

func twitterUser2(ctx context.Context, w *harvest.Walk, seed sfm.Seed) error {
	id, err := twitterLookup2(ctx, w, seed)
	if err == nil {
		page := func(ctx context.Context, cursor, since string) (page, error) {
			return twitterPage2(ctx, w, "/2/users/"+url.PathEscape(id)+"/tweets",
				[]string{"max_results", "100", "pagination_token", cursor, "since_id", since})
		}
		err = list{key: "timeline." + id + ".since_id", incremental: w.Flag("incremental", false), number: true, page: page}.walk(ctx, w)
	}
	return err
}

// twitterLookup2 is the id of the user a seed names.
func twitterLookup2(ctx context.Context, w *harvest.Walk, seed sfm.Seed) (string, error) {
	name := strings.TrimPrefix(seed.Token.String(), "@")
	path := "/2/users/by/username/" + url.PathEscape(name)
	if seed.UID != "" {
		path = "/2/users/" + url.PathEscape(seed.UID)
	}
	var a struct {
		Data   struct{ ID, Username string }
		Errors []problem
	}
	at := query(w.Base(), path, "user.fields", "created_at,description,id,location,name,protected,public_metrics,url,username,verified")
	if err := get(ctx, w, at, bearer(w.Credential("bearer_token")), &a); err != nil {
		return "", twitterTrouble2(err)
	}
	switch {
	case a.Data.ID == "" && len(a.Errors) > 0 && strings.Contains(a.Errors[0].Detail, "suspended"):
		return "", &seedError{suspended, a.Errors[0].Detail}
	case a.Data.ID == "" && len(a.Errors) > 0:
		return "", &seedError{notFound, a.Errors[0].Detail}
	case a.Data.ID == "":
		return "", fmt.Errorf("cannot read the answer of %q: it is no user", nameOf(at))
	case seed.UID == "":
		w.UID(seed.ID, a.Data.ID)
	case !strings.EqualFold(a.Data.Username, name):
		w.TokenUpdate(seed.ID, a.Data.Username)
	}
	return a.Data.ID, nil
}
