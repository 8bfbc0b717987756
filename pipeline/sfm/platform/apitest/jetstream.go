package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// A Jetstream sends events over a WebSocket, from a cursor on. See
// https://github.com/bluesky-social/jetstream#readme.
type Jetstream struct {
	*Desk
	// DropAfter, when it is not 0, is after how many events a connection is cut.
	DropAfter int

	mu        sync.Mutex
	more      *sync.Cond
	events    []event
	listeners int
}

type event struct {
	at               int64 // time_us
	did, kind, frame string
}

// OpenJetstream starts one.
func OpenJetstream(t testing.TB) *Jetstream {
	j := new(Jetstream)
	j.more = sync.NewCond(&j.mu)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /subscribe", j.subscribe)
	j.Desk = open(t, mux.ServeHTTP)
	return j
}

// Emit adds events of an author: the first of now, the others 1 ms apart.
func (j *Jetstream) Emit(did, collection string, n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	at := time.Now().UnixMicro()
	for range n {
		k := len(j.events)
		if k > 0 {
			at = max(at, j.events[k-1].at+1000)
		}
		e := event{at: at, did: did, kind: collection}
		e.frame = fmt.Sprintf(`{"did":%q,"time_us":%d,"kind":"commit","commit":{"rev":"3l%07d","operation":"create","collection":%q,"rkey":"3k%07d",`+
			`"record":{"$type":%q,"createdAt":"2026-10-01T00:00:00.000Z","langs":["en"],"text":"event %d of the stream, about as long as a post is"},"cid":"bafyrei%040d"}}`,
			did, e.at, k, collection, k, collection, k, k)
		j.events = append(j.events, e)
	}
	j.more.Broadcast()
}

// At is the time_us of an event, from 0.
func (j *Jetstream) At(n int) int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.events[n].at
}

// Listeners is how many connections are open.
func (j *Jetstream) Listeners() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.listeners
}

func (j *Jetstream) subscribe(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer c.CloseNow()
	want := wish{Collections: r.URL.Query()["wantedCollections"], DIDs: r.URL.Query()["wantedDids"]}
	if r.FormValue("requireHello") == "true" && !want.hear(c) {
		return
	}
	ctx, cancel := context.WithCancel(c.CloseRead(context.Background()))
	defer cancel()
	context.AfterFunc(ctx, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.more.Broadcast()
	})
	j.count(1)
	defer j.count(-1)
	j.send(ctx, c, want, r.FormValue("cursor"))
}

func (j *Jetstream) count(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.listeners += n
}

// send sends what is wanted from the cursor on; without a cursor what comes from now on.
func (j *Jetstream) send(ctx context.Context, c *websocket.Conn, want wish, from string) {
	cursor, err := strconv.ParseInt(from, 10, 64)
	j.mu.Lock()
	defer j.mu.Unlock()
	i := len(j.events)
	if err == nil {
		i, _ = slices.BinarySearchFunc(j.events, cursor, func(e event, at int64) int { return int(e.at - at) })
	}
	for sent := 0; ctx.Err() == nil; i++ {
		for i >= len(j.events) && ctx.Err() == nil {
			j.more.Wait()
		}
		if ctx.Err() != nil || j.DropAfter > 0 && sent == j.DropAfter {
			return
		}
		e := j.events[i]
		if !want.has(e) {
			continue
		}
		j.mu.Unlock()
		err := c.Write(ctx, websocket.MessageText, []byte(e.frame))
		j.mu.Lock()
		if err != nil {
			return
		}
		sent++
	}
}

// A wish is which events a listener wants.
type wish struct {
	Collections []string `json:"wantedCollections"`
	DIDs        []string `json:"wantedDids"`
}

// hear reads the first message of a listener that wants more than a URL holds.
func (w *wish) hear(c *websocket.Conn) bool {
	_, text, err := c.Read(context.Background())
	var m struct {
		Type    string
		Payload *wish
	}
	m.Payload = w
	return err == nil && json.Unmarshal(text, &m) == nil && m.Type == "options_update"
}

func (w *wish) has(e event) bool {
	fits := func(c string) bool {
		return c == e.kind || strings.HasSuffix(c, "*") && strings.HasPrefix(e.kind, strings.TrimSuffix(c, "*"))
	}
	return (len(w.Collections) == 0 || slices.ContainsFunc(w.Collections, fits)) && (len(w.DIDs) == 0 || slices.Contains(w.DIDs, e.did))
}
