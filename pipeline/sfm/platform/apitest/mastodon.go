package apitest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Mastodon is an instance: accounts, their statuses, tags, streams. See
// https://docs.joinmastodon.org/methods/accounts/, /methods/timelines/ and /methods/streaming/.
type Mastodon struct {
	*Desk
	// Token, when it is not "", is asked of streams and timelines of tags.
	Token string

	mu       sync.Mutex
	accounts map[string]*account // by id
	statuses []status            // oldest first
	next     int
	streams  map[chan status]string // what each is subscribed to
}

type account struct{ id, name string }

type status struct {
	id      int
	account string // id
	tag     string
	text    string
}

// OpenMastodon starts one.
func OpenMastodon(t testing.TB) *Mastodon {
	m := &Mastodon{accounts: make(map[string]*account), next: 1000, streams: make(map[chan status]string)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/accounts/lookup", m.lookup)
	mux.HandleFunc("GET /api/v1/accounts/{id}", m.show)
	mux.HandleFunc("GET /api/v1/accounts/{id}/statuses", m.ofAccount)
	mux.HandleFunc("GET /api/v1/timelines/tag/{tag}", m.ofTag)
	mux.HandleFunc("GET /api/v1/streaming/{kind...}", m.stream)
	m.Desk = open(t, mux.ServeHTTP)
	return m
}

// Account makes an account, or renames it.
func (m *Mastodon) Account(id, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accounts[id] = &account{id, name}
}

// Post adds statuses of an account, with a tag or "", and returns the id of the last. They go
// to the streams as well.
func (m *Mastodon) Post(account, tag string, n int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for range n {
		m.next += 7
		s := status{m.next, account, tag, "status " + strconv.Itoa(m.next)}
		m.statuses = append(m.statuses, s)
		for to, what := range m.streams {
			if what == "" || what == tag {
				to <- s
			}
		}
	}
	return strconv.Itoa(m.next)
}

// Late adds a status of another server that arrives with the id of when it was made.
func (m *Mastodon) Late(account, tag string, id int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.statuses = append(m.statuses, status{id, account, tag, "a late status"})
	slices.SortFunc(m.statuses, func(a, b status) int { return a.id - b.id })
}

// Listeners is how many streams are open.
func (m *Mastodon) Listeners() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.streams)
}

func (m *Mastodon) form(s status) object {
	a := m.accounts[s.account]
	if a == nil {
		a = &account{s.account, "somebody"}
	}
	o := object{"id": strconv.Itoa(s.id), "created_at": time.Unix(1700000000+int64(s.id), 0).UTC().Format("2006-01-02T15:04:05.000Z"),
		"content": "<p>" + s.text + "</p>", "visibility": "public", "url": fmt.Sprintf("%s/@%s/%d", m.URL, a.name, s.id),
		"uri": fmt.Sprintf("%s/users/%s/statuses/%d", m.URL, a.name, s.id), "account": m.formAccount(a),
		"media_attachments": []any{object{"id": strconv.Itoa(s.id), "type": "image", "url": fmt.Sprintf("https://files.example/%d.png", s.id)}}, "tags": []any{}, "reblog": nil, "card": nil}
	if s.tag != "" {
		o["tags"] = []any{object{"name": s.tag, "url": m.URL + "/tags/" + s.tag}}
	}
	return o
}

func (m *Mastodon) formAccount(a *account) object {
	return object{"id": a.id, "username": a.name, "acct": a.name, "url": m.URL + "/@" + a.name, "display_name": a.name}
}

func (m *Mastodon) lookup(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.accounts {
		if a.name == r.FormValue("acct") {
			answerJSON(w, 200, m.formAccount(a))
			return
		}
	}
	answerJSON(w, 404, object{"error": "Record not found"})
}

func (m *Mastodon) show(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.accounts[r.PathValue("id")]; a != nil {
		answerJSON(w, 200, m.formAccount(a))
		return
	}
	answerJSON(w, 404, object{"error": "Record not found"})
}

func (m *Mastodon) ofAccount(w http.ResponseWriter, r *http.Request) {
	m.timeline(w, r, func(s status) bool { return s.account == r.PathValue("id") })
}

func (m *Mastodon) ofTag(w http.ResponseWriter, r *http.Request) {
	if !m.allowed(r) {
		answerJSON(w, 401, object{"error": "This method requires an authenticated user"})
		return
	}
	m.timeline(w, r, func(s status) bool { return s.tag == r.PathValue("tag") })
}

func (m *Mastodon) allowed(r *http.Request) bool {
	return m.Token == "" || r.Header.Get("Authorization") == "Bearer "+m.Token
}

// timeline answers a page: with min_id the statuses right above it, else the newest below
// max_id; newest first in both cases.
func (m *Mastodon) timeline(w http.ResponseWriter, r *http.Request, wanted func(status) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	limit = min(max(limit, 1), 40)
	var page []status
	for _, s := range m.statuses {
		if wanted(s) && within(s.id, r.URL.Query()) {
			page = append(page, s)
		}
	}
	if len(page) > limit && r.FormValue("min_id") != "" {
		page = page[:limit]
	} else if len(page) > limit {
		page = page[len(page)-limit:]
	}
	slices.Reverse(page)
	out := make([]object, 0, len(page))
	for _, s := range page {
		out = append(out, m.form(s))
	}
	if len(page) > 0 {
		at := m.URL + r.URL.Path + "?limit=" + strconv.Itoa(limit)
		w.Header().Set("Link", fmt.Sprintf(`<%s&max_id=%d>; rel="next", <%s&min_id=%d>; rel="prev"`, at, page[len(page)-1].id, at, page[0].id))
	}
	w.Header().Set("X-RateLimit-Remaining", "299")
	answerJSON(w, 200, out)
}

func within(id int, q url.Values) bool {
	above := func(name string) bool { n, err := strconv.Atoi(q.Get(name)); return err != nil || id > n }
	below, err := strconv.Atoi(q.Get("max_id"))
	return above("min_id") && above("since_id") && (err != nil || id < below)
}

// stream sends server-sent events: a heartbeat, then what is posted.
func (m *Mastodon) stream(w http.ResponseWriter, r *http.Request) {
	if !m.allowed(r) {
		answerJSON(w, 401, object{"error": "Missing access token"})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "private, no-store")
	fmt.Fprint(w, ":)\n\n")
	w.(http.Flusher).Flush()
	in := make(chan status, 1<<16)
	m.mu.Lock()
	m.streams[in] = strings.ToLower(r.FormValue("tag"))
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.streams, in)
	}()
	for {
		select {
		case s := <-in:
			m.mu.Lock()
			text := oneLine(m.form(s))
			m.mu.Unlock()
			fmt.Fprintf(w, "event: update\ndata: %s\n\n", text)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}
