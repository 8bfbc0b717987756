package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

func oneLine(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}

// A Bluesky is an AppView: profiles and feeds of authors, with opaque cursors. See
// https://docs.bsky.app/docs/api/app-bsky-feed-get-author-feed.
type Bluesky struct {
	*Desk
	mu       sync.Mutex
	handles  map[string]string // of DIDs
	posts    map[string][]int  // of DIDs, oldest first
	next     int
	PageSize int // at most 100
}

// OpenBluesky starts one.
func OpenBluesky(t testing.TB) *Bluesky {
	b := &Bluesky{handles: make(map[string]string), posts: make(map[string][]int), PageSize: 100}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /xrpc/app.bsky.actor.getProfile", b.profile)
	mux.HandleFunc("GET /xrpc/app.bsky.feed.getAuthorFeed", b.feed)
	mux.HandleFunc("GET /xrpc/com.atproto.identity.resolveHandle", b.resolve)
	b.Desk = open(t, mux.ServeHTTP)
	return b
}

// Author makes an account, or gives it another handle.
func (b *Bluesky) Author(did, handle string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.handles[did] = handle
}

// Post adds posts, a second apart from each other.
func (b *Bluesky) Post(did string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range n {
		b.next++
		b.posts[did] = append(b.posts[did], b.next)
	}
}

// find is the DID of an actor, given as DID or handle.
func (b *Bluesky) find(actor string) (string, bool) {
	for did, handle := range b.handles {
		if did == actor || handle == actor {
			return did, true
		}
	}
	return "", false
}

func (b *Bluesky) profile(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	did, ok := b.find(r.FormValue("actor"))
	if !ok {
		answerJSON(w, 400, object{"error": "InvalidRequest", "message": "Profile not found"})
		return
	}
	answerJSON(w, 200, object{"did": did, "handle": b.handles[did], "displayName": "An author", "postsCount": len(b.posts[did])})
}

func (b *Bluesky) resolve(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	did, ok := b.find(r.FormValue("handle"))
	if !ok {
		answerJSON(w, 400, object{"error": "InvalidRequest", "message": "Unable to resolve handle"})
		return
	}
	answerJSON(w, 200, object{"did": did})
}

func timeOf(n int) string {
	return time.Date(2026, 3, 1, 0, 0, n, 0, time.UTC).Format("2006-01-02T15:04:05.000Z")
}

func (b *Bluesky) form(did string, n int) object {
	return object{"post": object{"uri": fmt.Sprintf("at://%s/app.bsky.feed.post/3k%06d", did, n), "cid": fmt.Sprintf("bafy%d", n),
		"author":    object{"did": did, "handle": b.handles[did]},
		"record":    object{"$type": "app.bsky.feed.post", "text": "post " + strconv.Itoa(n), "createdAt": timeOf(n)},
		"indexedAt": timeOf(n)}}
}

func (b *Bluesky) feed(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	did, ok := b.find(r.FormValue("actor"))
	if !ok {
		answerJSON(w, 400, object{"error": "InvalidRequest", "message": "Profile not found"})
		return
	}
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	limit = min(max(limit, 1), b.PageSize)
	all, out, cursor := b.posts[did], []object{}, ""
	for i := len(all) - 1; i >= 0; i-- {
		if c := r.FormValue("cursor"); c != "" && timeOf(all[i]) >= c {
			continue
		}
		if len(out) == limit {
			break
		}
		out, cursor = append(out, b.form(did, all[i])), timeOf(all[i])
	}
	answer := object{"feed": out}
	if len(out) > 0 {
		answer["cursor"] = cursor
	}
	answerJSON(w, 200, answer)
}
