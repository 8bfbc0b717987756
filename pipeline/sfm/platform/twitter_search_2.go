package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
	"strings"
	"time"
)

// twitterSearch2 harvests what recent search, of the last seven days, finds for a query. API: X,
// version 2, "Recent search".
func twitterSearch2() *harvest.Type {
	return &harvest.Type{Name: "twitter_search_2", Platform: "twitter2", Service: "Twitter Harvester", Module: twitterModule,
		APIBase: twitter2Base, MinSeeds: 1, MaxSeeds: -1, Secrets: []string{"bearer_token"},
		Walk: func(ctx context.Context, w *harvest.Walk) error {
			return each(ctx, w, func(ctx context.Context, seed sfm.Seed) error { return twitterQuery2(ctx, w, seed) })
		}}
}

// A searchFor is the token of a search: a text, or an object of which the members but one may be
// left out.
type searchFor struct {
	Query     string      `json:"query"`
	Geocode   string      `json:"geocode"` // latitude, longitude and radius
	StartTime string      `json:"start_time"`
	EndTime   string      `json:"end_time"`
	Limit     json.Number `json:"limit"`
}

func parseSearch(token sfm.Token) (searchFor, error) {
	s := searchFor{Query: token.String()}
	if _, ok := token.Object(); ok {
		s = searchFor{}
		if err := json.Unmarshal(token, &s); err != nil {
			return s, err
		}
	}
	if strings.TrimSpace(s.Query+s.Geocode) == "" {
		return s, errors.New("it has neither query nor geocode")
	}
	return s, nil
}

// key is where the mark of the search is kept.
func (s searchFor) key() string {
	if s.Geocode == "" {
		return s.Query + ".since_id"
	}
	return s.Query + ":" + s.Geocode + ".since_id"
}

// query2 is the query in the words of version 2, where a place is an operator.
func (s searchFor) query2() string {
	parts := strings.Split(s.Geocode, ",")
	if len(parts) != 3 {
		return s.Query
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return strings.TrimSpace(fmt.Sprintf("%s point_radius:[%s %s %s]", s.Query, parts[1], parts[0], parts[2]))
}

func twitterQuery2(ctx context.Context, w *harvest.Walk, seed sfm.Seed) error {
	s, err := parseSearch(seed.Token)
	if err != nil {
		return &seedError{notFound, err.Error()}
	}
	left, _ := s.Limit.Int64()
	page := func(ctx context.Context, cursor, since string) (page, error) {
		params := []string{"query", s.query2(), "max_results", "100", "next_token", cursor}
		p, err := twitterPage2(ctx, w, "/2/tweets/search/recent", append(params, s.bounds2(w.Now(), since)...))
		if left -= int64(len(p.marks)); left <= 0 && s.Limit != "" {
			p.next = ""
		}
		return p, err
	}
	return list{key: s.key(), incremental: w.Flag("incremental", false), number: true, page: page}.walk(ctx, w)
}

// week is how far recent search looks back, less a while for the request to get there.
const week = 7*24*time.Hour - time.Minute

// bounds2 are where a search begins and ends: after a tweet, or else at a time. A beginning
// that recent search does not reach is left out, as it would be refused.
func (s searchFor) bounds2(now time.Time, since string) []string {
	bounds := []string{"end_time", s.EndTime}
	if at, ok := tweetTime(since); ok && now.Sub(at) < week {
		return append(bounds, "since_id", since)
	}
	if at, err := sfm.ParseTime(s.StartTime); err == nil && now.Sub(at.Time) < week {
		bounds = append(bounds, "start_time", at.UTC().Format(time.RFC3339))
	}
	return bounds
}
