package platform

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
)

// mastodonPage is how many statuses are asked for at once, the most Mastodon gives.
const mastodonPage = "40"

// mastodonTimeline harvests the statuses of accounts, user@host, and of tags, #tag@host, from
// the oldest on: Mastodon gives the statuses right above an id, so that the last id harvested is
// where any later walk goes on. API: Mastodon, methods accounts and timelines.
func mastodonTimeline() *harvest.Type {
	return &harvest.Type{Name: "mastodon_timeline", Platform: "mastodon", Service: "Mastodon Harvester", Module: "mastodon_harvester",
		MinSeeds: 1, MaxSeeds: -1, Apart: true, Secrets: []string{"access_token"},
		Walk: func(ctx context.Context, w *harvest.Walk) error {
			return each(ctx, w, func(ctx context.Context, seed sfm.Seed) error { return mastodonSeed(ctx, w, seed) })
		}}
}

// A fediverse name is an account or a tag of a server.
type fediverse struct {
	name, host string
	tag        bool
}

// errName is a token that is none of the forms.
var errName = errors.New("it is neither user@host nor #tag@host")

func parseFediverse(token string) (fediverse, error) {
	f := fediverse{}
	token, f.tag = strings.CutPrefix(strings.TrimSpace(token), "#")
	if !f.tag {
		token = strings.TrimPrefix(token, "@")
	}
	var ok bool
	f.name, f.host, ok = strings.Cut(token, "@")
	u, err := url.Parse("https://" + f.host)
	if !ok || f.name == "" || f.host == "" || err != nil || u.Host != f.host || strings.ContainsAny(f.name, "/?# ") {
		return f, errName
	}
	f.host = strings.ToLower(f.host)
	return f, nil
}

// base is where the API of the name's server is.
func (f fediverse) base(w *harvest.Walk) string {
	if b := w.Base(); b != "" {
		return b
	}
	return "https://" + f.host
}

// header has the access token, which is for one server: the one the credentials name as host,
// or else the only one the seeds name.
func (f fediverse) header(w *harvest.Walk) http.Header {
	host := strings.ToLower(w.Credential("host"))
	if host == "" && oneHost(w.Start().Seeds, f.host) {
		host = f.host
	}
	if host != f.host {
		return nil
	}
	return bearer(w.Credential("access_token"))
}

func oneHost(seeds []sfm.Seed, host string) bool {
	for _, s := range seeds {
		if f, err := parseFediverse(s.Token.String()); err == nil && f.host != host {
			return false
		}
	}
	return true
}

func mastodonSeed(ctx context.Context, w *harvest.Walk, seed sfm.Seed) error {
	f, err := parseFediverse(seed.Token.String())
	if err != nil {
		return &seedError{notFound, err.Error()}
	}
	at, key := "/api/v1/timelines/tag/"+url.PathEscape(f.name), "#"+strings.ToLower(f.name)+"@"+f.host
	if !f.tag {
		id, err := mastodonAccount(ctx, w, seed, f)
		if err != nil {
			return mastodonTrouble(err)
		}
		at, key = "/api/v1/accounts/"+url.PathEscape(id)+"/statuses", id+"@"+f.host
	}
	return mastodonTrouble(mastodonWalk(ctx, w, f, at, "timeline."+key+".min_id"))
}

// mastodonTrouble finds the answers that are about the seed alone.
func mastodonTrouble(err error) error {
	switch statusOf(err) {
	case 401, 403:
		return &seedError{unauthorized, "the server does not show it without another access token"}
	case 404:
		return &seedError{notFound, "the server does not have it"}
	case 410:
		return &seedError{suspended, "the server does not show it any more"}
	}
	return err
}

// mastodonAccount is the id of an account. One that is known by its id may have another name by now.
func mastodonAccount(ctx context.Context, w *harvest.Walk, seed sfm.Seed, f fediverse) (string, error) {
	var a struct {
		ID, Username string
		Suspended    bool
	}
	at := query(f.base(w), "/api/v1/accounts/lookup", "acct", f.name)
	if seed.UID != "" {
		at = f.base(w) + "/api/v1/accounts/" + url.PathEscape(seed.UID)
	}
	err := get(ctx, w, at, f.header(w), &a)
	switch {
	case err != nil:
		return "", err
	case a.ID == "":
		return "", fmt.Errorf("cannot read the answer of %q: it is no account", nameOf(at))
	case a.Suspended:
		return "", &statusError{status: http.StatusGone}
	case seed.UID == "":
		w.UID(seed.ID, a.ID)
	case a.Username != "" && !strings.EqualFold(a.Username, f.name):
		w.TokenUpdate(seed.ID, a.Username+"@"+f.host)
	}
	return a.ID, nil
}

// mastodonWalk goes up from what was harvested last, page above page, until there is no more. A
// page may be short without being the last.
func mastodonWalk(ctx context.Context, w *harvest.Walk, f fediverse, path, key string) error {
	mark, incremental := "0", w.Flag("incremental", true)
	if !incremental {
		key += "@" + w.Start().ID
	}
	w.State(key, &mark)
	mark = before(mark, amount(w, "overlap", 0))
	for {
		var statuses []struct{ ID string }
		if err := get(ctx, w, query(f.base(w), path, "limit", mastodonPage, "min_id", mark), f.header(w), &statuses); err != nil {
			return err
		}
		top := ""
		for _, s := range statuses {
			if above(s.ID, top) {
				top = s.ID
			}
		}
		if len(statuses) == 0 {
			if !incremental { // no later walk goes on from here
				w.Keep(key, nil)
			}
			return nil
		}
		if !above(top, mark) {
			return fmt.Errorf("cannot walk the pages of %q to their end: nothing on them is above %s", nameOf(f.base(w)+path), mark)
		}
		mark = top
		w.Keep(key, mark)
		if err := w.Next(ctx); err != nil {
			return err
		}
	}
}

// before is an id of so many hours earlier: the bits above the lowest 16 are the milliseconds at which
// a status was made. Ids of servers that make others stay as they are.
func before(id string, hours int64) string {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || hours == 0 {
		return id
	}
	const each = int64(time.Hour/time.Millisecond) << 16
	return strconv.FormatInt(max(0, n-min(hours, math.MaxInt64/each)*each), 10)
}
