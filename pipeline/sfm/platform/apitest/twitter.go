package apitest

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Twitter speaks version 2 (recent search, users, timelines, the filtered stream and its
// rules) and of version 1.1 search and filter. See https://docs.x.com/x-api.
type Twitter struct {
	*Desk
	// Bearer is asked for of version 2; of version 1.1 only that a request is signed.
	Bearer   string
	PageSize int // of version 2, at most 100

	mu      sync.Mutex
	users   map[string]*twitterUser // by id
	tweets  []tweet                 // oldest first
	next    int64
	rules   []object
	streams map[chan tweet]bool // of version 2, or not
}

type twitterUser struct {
	id, name, trouble string
}

type tweet struct {
	id           int64
	author, text string
}

// OpenTwitter starts one that takes the bearer token "bearer". Its tweets are of now, as
// recent search tells from the ids how old they are.
func OpenTwitter(t testing.TB) *Twitter {
	m := &Twitter{Bearer: "bearer", PageSize: 100, users: make(map[string]*twitterUser), streams: make(map[chan tweet]bool),
		next: (time.Now().Add(-time.Hour).UnixMilli() - 1288834974657) << 22}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2/tweets/search/recent", m.v2(m.search2))
	mux.HandleFunc("GET /2/users/by/username/{name}", m.v2(m.userByName))
	mux.HandleFunc("GET /2/users/{id}", m.v2(m.userByID))
	mux.HandleFunc("GET /2/users/{id}/tweets", m.v2(m.timeline2))
	mux.HandleFunc("GET /2/tweets/search/stream", m.v2(m.stream2))
	mux.HandleFunc("GET /2/tweets/search/stream/rules", m.v2(m.getRules))
	mux.HandleFunc("POST /2/tweets/search/stream/rules", m.v2(m.setRules))
	mux.HandleFunc("GET /1.1/search/tweets.json", m.v1(m.search1))
	mux.HandleFunc("POST /1.1/statuses/filter.json", m.v1(m.stream1))
	m.Desk = open(t, mux.ServeHTTP)
	return m
}

// User makes a user, with a trouble of "", "suspended" or "protected".
func (m *Twitter) User(id, name, trouble string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.users[id] = &twitterUser{id, name, trouble}
}

// Tweet adds tweets and sends them to the streams; it returns the id of the last.
func (m *Twitter) Tweet(author, text string, n int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for range n {
		m.next += 1 << 22
		tw := tweet{m.next, author, text}
		m.tweets = append(m.tweets, tw)
		for to := range m.streams {
			to <- tw
		}
	}
	return strconv.FormatInt(m.next, 10)
}

// Listeners is how many streams are open.
func (m *Twitter) Listeners() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.streams)
}

func (m *Twitter) v2(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+m.Bearer {
			answerJSON(w, 401, object{"title": "Unauthorized", "type": "about:blank", "status": 401, "detail": "Unauthorized"})
			return
		}
		answer(w, r)
	}
}

func (m *Twitter) v1(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		auth := r.Header.Get("Authorization")
		if !strings.HasPrefix(auth, "OAuth ") || !strings.Contains(auth, "oauth_signature=") {
			answerJSON(w, 401, object{"errors": []any{object{"code": 32, "message": "Could not authenticate you."}}})
			return
		}
		answer(w, r)
	}
}

func form2(t tweet) object {
	return object{"id": strconv.FormatInt(t.id, 10), "text": t.text, "author_id": t.author,
		"created_at": time.UnixMilli(t.id>>22 + 1288834974657).UTC().Format("2006-01-02T15:04:05.000Z"), "edit_history_tweet_ids": []string{strconv.FormatInt(t.id, 10)}}
}

// page2 answers a page of tweets, newest first, whose token is the id it goes on below.
func (m *Twitter) page2(w http.ResponseWriter, r *http.Request, token string, wanted func(tweet) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	size, _ := strconv.Atoi(r.FormValue("max_results"))
	size = min(max(size, 5), m.PageSize)
	data, oldest := m.below(r.URL.Query(), strings.TrimPrefix(r.FormValue(token), "t"), size, wanted)
	meta := object{"result_count": len(data)}
	answer := object{"meta": meta}
	if len(data) > 0 {
		out := []object{}
		for _, t := range data {
			out = append(out, form2(t))
		}
		answer["data"] = out
		meta["newest_id"], meta["oldest_id"] = out[0]["id"], out[len(out)-1]["id"]
	}
	if oldest != 0 {
		meta["next_token"] = "t" + strconv.FormatInt(oldest, 10)
	}
	answerJSON(w, 200, answer)
}

// below are so many tweets below an id, and that of the last when there are more.
func (m *Twitter) below(q url.Values, id string, size int, wanted func(tweet) bool) (out []tweet, more int64) {
	upper, err := strconv.ParseInt(id, 10, 64)
	since, _ := strconv.ParseInt(q.Get("since_id"), 10, 64)
	for i := len(m.tweets) - 1; i >= 0; i-- {
		t := m.tweets[i]
		if t.id <= since || err == nil && t.id >= upper || !wanted(t) {
			continue
		}
		if len(out) == size {
			return out, out[size-1].id
		}
		out = append(out, t)
	}
	return out, 0
}

func (m *Twitter) search2(w http.ResponseWriter, r *http.Request) {
	if since, _ := strconv.ParseInt(r.FormValue("since_id"), 10, 64); since != 0 && time.Since(time.UnixMilli(since>>22+1288834974657)) > 7*24*time.Hour {
		answerJSON(w, 400, object{"errors": []any{object{"parameters": object{"since_id": []any{r.FormValue("since_id")}},
			"message": "'since_id' must be a tweet id created after [a week ago]. Please use a 'since_id' that is larger than 1"}},
			"title": "Invalid Request", "detail": "One or more parameters to your request was invalid.", "type": "https://api.twitter.com/2/problems/invalid-request"})
		return
	}
	m.page2(w, r, "next_token", func(t tweet) bool { return strings.Contains(t.text, r.FormValue("query")) })
}

func (m *Twitter) timeline2(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	u := m.users[r.PathValue("id")]
	m.mu.Unlock()
	if u != nil && u.trouble == "protected" {
		answerJSON(w, 200, object{"errors": []any{object{"resource_id": u.id, "parameter": "id", "resource_type": "user", "title": "Authorization Error",
			"detail": fmt.Sprintf("Sorry, you are not authorized to see the user with id: [%s].", u.id), "type": "https://api.twitter.com/2/problems/not-authorized-for-resource"}}})
		return
	}
	m.page2(w, r, "pagination_token", func(t tweet) bool { return t.author == r.PathValue("id") })
}

func (m *Twitter) userByName(w http.ResponseWriter, r *http.Request) {
	m.user(w, "username", r.PathValue("name"), func(u *twitterUser) bool { return strings.EqualFold(u.name, r.PathValue("name")) })
}

func (m *Twitter) userByID(w http.ResponseWriter, r *http.Request) {
	m.user(w, "id", r.PathValue("id"), func(u *twitterUser) bool { return u.id == r.PathValue("id") })
}

func (m *Twitter) user(w http.ResponseWriter, parameter, value string, is func(*twitterUser) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	problem := object{"value": value, "parameter": parameter, "resource_type": "user", "title": "Not Found Error",
		"detail": fmt.Sprintf("Could not find user with %s: [%s].", parameter, value), "type": "https://api.twitter.com/2/problems/resource-not-found"}
	for _, u := range m.users {
		switch {
		case !is(u):
		case u.trouble == "suspended":
			problem["title"], problem["detail"] = "Forbidden", fmt.Sprintf("User has been suspended: [%s].", value)
		default:
			answerJSON(w, 200, object{"data": object{"id": u.id, "username": u.name, "name": u.name, "protected": u.trouble == "protected"}})
			return
		}
	}
	answerJSON(w, 200, object{"errors": []any{problem}})
}

func (m *Twitter) search1(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	upper := ""
	if n, err := strconv.ParseInt(r.FormValue("max_id"), 10, 64); err == nil {
		upper = strconv.FormatInt(n+1, 10) // max_id is within
	}
	found, _ := m.below(r.URL.Query(), upper, m.PageSize, func(t tweet) bool { return strings.Contains(t.text, r.FormValue("q")) })
	out := []object{}
	for _, t := range found {
		out = append(out, form1(t))
	}
	w.Header()["x-rate-limit-remaining"] = []string{"179"}
	answerJSON(w, 200, object{"statuses": out, "search_metadata": object{"count": len(out)}})
}

func form1(t tweet) object {
	return object{"id": t.id, "id_str": strconv.FormatInt(t.id, 10), "text": t.text, "created_at": time.UnixMilli(t.id>>22 + 1288834974657).UTC().Format(time.RubyDate),
		"user": object{"id_str": t.author, "screen_name": "user" + t.author}, "entities": object{}}
}
