package platform

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
)

// mastodonStream harvests statuses as they are made: of a tag, #tag@host, or all a server knows of,
// public@host, or makes itself, local@host. API: Mastodon, method streaming, over HTTP.
func mastodonStream() *harvest.Type {
	return &harvest.Type{Name: "mastodon_stream", Platform: "mastodon", Service: "Mastodon Harvester", Module: "mastodon_harvester",
		Stream: true, Apart: true, MinSeeds: 1, MaxSeeds: -1, Secrets: []string{"access_token"},
		Walk: func(ctx context.Context, w *harvest.Walk) error {
			return together(ctx, w, func(ctx context.Context, seed sfm.Seed) error { return mastodonListen(ctx, w, seed) })
		}}
}

// mastodonListen listens to one stream until the harvest is to stop.
func mastodonListen(ctx context.Context, w *harvest.Walk, seed sfm.Seed) error {
	f, err := parseFediverse(seed.Token.String())
	if err != nil {
		return &seedError{notFound, "it is none of #tag@host, public@host and local@host"}
	}
	q := harvest.Request{Header: http.Header{"Accept": {"text/event-stream"}}}
	switch name := strings.ToLower(f.name); {
	case f.tag:
		q.URL = query(f.base(w), "/api/v1/streaming/hashtag", "tag", name)
	case name == "public":
		q.URL = f.base(w) + "/api/v1/streaming/public"
	case name == "local":
		q.URL = f.base(w) + "/api/v1/streaming/public/local"
	default:
		return &seedError{notFound, "it is none of #tag@host, public@host and local@host"}
	}
	for name, value := range f.header(w) {
		q.Header[name] = value
	}
	return mastodonTrouble(endless(ctx, w, q))
}

// endless listens again whenever a connection ends, or another WARC is due.
func endless(ctx context.Context, w *harvest.Walk, q harvest.Request) error {
	for {
		err := w.Stream(ctx, q, func([]byte) error { return nil })
		var status *harvest.StatusError
		if errors.As(err, &status) {
			return &statusError{status: status.Status}
		}
		if err != nil {
			return err
		}
		if err := w.Next(ctx); err != nil {
			return err
		}
	}
}
