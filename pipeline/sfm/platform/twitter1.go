package platform

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
)

// twitterSearch harvests what a search of version 1.1 finds.
func twitterSearch() *harvest.Type {
	return &harvest.Type{Name: "twitter_search", Platform: "twitter", Service: "Twitter Harvester", Module: twitterModule,
		MinSeeds: 1, MaxSeeds: -1, Secrets: []string{"Authorization"},
		Walk: func(ctx context.Context, w *harvest.Walk) error {
			if err := twitter1Base(w); err != nil {
				return err
			}
			return each(ctx, w, func(ctx context.Context, seed sfm.Seed) error { return twitterQuery1(ctx, w, seed) })
		}}
}

// twitter1Base refuses to ask an API that was shut down in 2023; the option api_base names a machine
// that speaks it still.
func twitter1Base(w *harvest.Walk) error {
	if w.Base() != "" {
		return nil
	}
	return harvest.Refuse("api_retired", "The API of Twitter version 1.1 that %s needs was retired in 2023; "+
		"twitter_search_2 and twitter_filter_stream use version 2, and the option api_base names a server that still speaks version 1.1",
		w.Start().Type)
}

// sign1 signs requests, each time they are sent.
func sign1(w *harvest.Walk, form url.Values) func(*http.Request) {
	o := oauth1{w.Credential("consumer_key"), w.Credential("consumer_secret"), w.Credential("access_token"), w.Credential("access_token_secret")}
	return func(r *http.Request) { o.sign(r, form, w.Now()) }
}

func twitterQuery1(ctx context.Context, w *harvest.Walk, seed sfm.Seed) error {
	s, err := parseSearch(seed.Token)
	if err != nil {
		return &seedError{notFound, err.Error()}
	}
	page := func(ctx context.Context, cursor, since string) (page, error) {
		return twitterPage1(ctx, w, query(w.Base(), "/1.1/search/tweets.json", "q", s.Query, "geocode", s.Geocode, "count", "100",
			"result_type", "recent", "max_id", cursor, "since_id", since))
	}
	return list{key: s.key(), incremental: w.Flag("incremental", false), number: true, page: page}.walk(ctx, w)
}

// twitterPage1 asks for a page of tweets; the next one begins right below its lowest.
func twitterPage1(ctx context.Context, w *harvest.Walk, at string) (page, error) {
	var a struct {
		Statuses []struct {
			ID string `json:"id_str"`
		}
	}
	answer, err := w.Fetch(ctx, harvest.Request{URL: at, Sign: sign1(w, nil)})
	if err == nil {
		err = read(answer, at, &a)
	}
	switch statusOf(err) {
	case 401, 403, 410:
		return page{}, harvest.Refuse(unauthorized, "Twitter refuses the request: %v", err)
	}
	if err != nil {
		return page{}, err
	}
	var p page
	lowest := ""
	for _, s := range a.Statuses {
		p.add(s.ID)
		if lowest == "" || above(lowest, s.ID) {
			lowest = s.ID
		}
	}
	if n, err := strconv.ParseInt(lowest, 10, 64); err == nil {
		p.next = strconv.FormatInt(n-1, 10)
	}
	return p, nil
}
