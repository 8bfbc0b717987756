package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
)

// blueskyAppView answers without a login.
const blueskyAppView = "https://public.api.bsky.app"

// blueskyAuthor harvests the feeds of authors: their posts, replies and reposts. A seed has a
// handle as token and a DID as uid. API: Bluesky, app.bsky.feed.getAuthorFeed.
func blueskyAuthor() *harvest.Type {
	return &harvest.Type{Name: "bluesky_author", Platform: "bluesky", Service: "Bluesky Harvester", Module: "bluesky_harvester",
		APIBase: blueskyAppView, MinSeeds: 1, MaxSeeds: -1,
		Walk: func(ctx context.Context, w *harvest.Walk) error {
			return each(ctx, w, func(ctx context.Context, seed sfm.Seed) error { return blueskySeed(ctx, w, seed) })
		}}
}

func blueskySeed(ctx context.Context, w *harvest.Walk, seed sfm.Seed) error {
	did, err := blueskyProfile(ctx, w, seed)
	if err == nil && did != "" {
		page := func(ctx context.Context, cursor, _ string) (page, error) { return blueskyPage(ctx, w, did, cursor) }
		err = list{key: did + ".since", incremental: w.Flag("incremental", true), page: page}.walk(ctx, w)
	}
	return blueskyTrouble(err)
}

// blueskyTrouble finds the answers that are about the seed alone.
func blueskyTrouble(err error) error {
	name, message := blueskyError(err)
	switch status := statusOf(err); {
	case name == "AccountTakedown" || name == "AccountDeactivated" || strings.Contains(message, "suspended"):
		return &seedError{suspended, message}
	case name == "InvalidRequest" || status == 404:
		return &seedError{notFound, message}
	case status == 401 || status == 403 || name == "BlockedActor" || name == "BlockedByActor":
		return &seedError{unauthorized, message}
	}
	return err
}

// blueskyError is the name and the text of the error an API of the AT protocol answers with.
func blueskyError(err error) (name, message string) {
	var status *statusError
	if !errors.As(err, &status) {
		return "", ""
	}
	var body struct{ Error, Message string }
	if json.Unmarshal(status.body, &body) != nil {
		return "", status.Error()
	}
	return body.Error, body.Message
}

// blueskyProfile is the DID of a seed. A handle can change, a DID cannot.
func blueskyProfile(ctx context.Context, w *harvest.Walk, seed sfm.Seed) (string, error) {
	handle := strings.TrimPrefix(seed.Token.String(), "@")
	actor := seed.UID
	if actor == "" {
		actor = handle
	}
	var p struct{ DID, Handle string }
	at := query(w.Base(), "/xrpc/app.bsky.actor.getProfile", "actor", actor)
	err := get(ctx, w, at, nil, &p)
	switch {
	case err != nil:
		return "", err
	case p.DID == "":
		return "", fmt.Errorf("cannot read the answer of %q: it is no profile", nameOf(at))
	case seed.UID == "":
		w.UID(seed.ID, p.DID)
	case !strings.EqualFold(p.Handle, handle) && p.Handle != "" && p.Handle != "handle.invalid":
		w.TokenUpdate(seed.ID, p.Handle)
	}
	return p.DID, nil
}

type blueskyFeed struct {
	Feed []struct {
		Post struct {
			Record    struct{ CreatedAt string }
			IndexedAt string
		}
		Reason struct {
			Type      string `json:"$type"`
			IndexedAt string
		}
	}
	Cursor string
}

// blueskyPage asks for a page of a feed.
func blueskyPage(ctx context.Context, w *harvest.Walk, did, cursor string) (page, error) {
	var a blueskyFeed
	at := query(w.Base(), "/xrpc/app.bsky.feed.getAuthorFeed", "actor", did, "filter", "posts_with_replies", "limit", "100", "cursor", cursor)
	if err := get(ctx, w, at, nil, &a); err != nil {
		if name, _ := blueskyError(err); cursor != "" && name == "InvalidRequest" {
			return page{}, errRefused
		}
		return page{}, err
	}
	p := page{next: a.Cursor}
	for _, item := range a.Feed {
		switch {
		case strings.HasSuffix(item.Reason.Type, "#reasonPin"):
		case item.Reason.IndexedAt != "":
			p.add(instant(item.Reason.IndexedAt))
		default:
			p.add(earlier(instant(item.Post.Record.CreatedAt), instant(item.Post.IndexedAt)))
		}
	}
	return p, nil
}

// earlier is where a feed sorts a post: at the time it says it was made, but never later than
// it was seen. "" is no time.
func earlier(made, seen string) string {
	if made == "" || seen != "" && above(made, seen) {
		return seen
	}
	return made
}

// instant brings a time to the form in which times compare as texts, of microseconds in UTC.
func instant(s string) string {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000Z")
}
