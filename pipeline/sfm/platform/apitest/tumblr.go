package apitest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Tumblr has blogs, newest post first, paged by offset. See
// https://www.tumblr.com/docs/en/api/v2#posts--retrieve-published-posts.
type Tumblr struct {
	*Desk
	// Key is asked as api_key.
	Key string

	mu    sync.Mutex
	blogs map[string][]int // ids of the posts, oldest first
	next  int
}

// OpenTumblr starts one, with the key "key".
func OpenTumblr(t testing.TB) *Tumblr {
	m := &Tumblr{Key: "key", blogs: make(map[string][]int), next: 9007199254740990}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/blog/{blog}/posts", m.posts)
	m.Desk = open(t, mux.ServeHTTP)
	return m
}

// Post adds posts to a blog, which is then there.
func (m *Tumblr) Post(blog string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for range n {
		m.next += 3
		m.blogs[blog] = append(m.blogs[blog], m.next)
	}
}

// Remove takes the newest posts off a blog.
func (m *Tumblr) Remove(blog string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blogs[blog] = m.blogs[blog][:len(m.blogs[blog])-n]
}

// IDs are those of the posts of a blog, oldest first.
func (m *Tumblr) IDs(blog string) (out []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range m.blogs[blog] {
		out = append(out, strconv.Itoa(id))
	}
	return out
}

func (m *Tumblr) posts(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.FormValue("api_key") != m.Key {
		answerJSON(w, 401, object{"meta": object{"status": 401, "msg": "Unauthorized"}, "response": []any{}})
		return
	}
	name := strings.TrimSuffix(r.PathValue("blog"), ".tumblr.com")
	all, ok := m.blogs[name]
	if !ok {
		answerJSON(w, 404, object{"meta": object{"status": 404, "msg": "Not Found"}, "response": []any{}})
		return
	}
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	limit = min(max(limit, 1), 50)
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	posts := []object{}
	for i := len(all) - 1 - offset; i >= 0 && len(posts) < limit; i-- {
		posts = append(posts, tumblrPost(name, all[i]))
	}
	w.Header().Set("X-Ratelimit-Perhour-Remaining", "990")
	w.Header().Set("X-Ratelimit-Perhour-Reset", "3000")
	answerJSON(w, 200, object{"meta": object{"status": 200, "msg": "OK"},
		"response": object{"blog": object{"name": name, "posts": len(all)}, "posts": posts, "total_posts": len(all)}})
}

func tumblrPost(blog string, id int) object {
	at := time.Unix(1700000000+int64(id%1e6), 0).UTC()
	return object{"type": "text", "blog_name": blog, "id": id, "id_string": strconv.Itoa(id), "timestamp": at.Unix(),
		"date": at.Format("2006-01-02 15:04:05 GMT"), "post_url": fmt.Sprintf("https://%s.tumblr.com/post/%d", blog, id),
		"slug": "", "tags": []any{}, "body": "<p>post " + strconv.Itoa(id) + "</p>"}
}
