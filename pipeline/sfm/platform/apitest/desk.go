// Package apitest holds servers that speak the APIs the harvest types walk, written from their
// public documents: Mastodon, Bluesky (AppView and Jetstream), Tumblr, Twitter 1.1 and 2, and a
// site of pages and feeds. They are for tests. Every one stands behind a Desk, which counts what
// is asked and gives the faults it was told to give.
package apitest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A Desk is what all the servers have in front.
type Desk struct {
	// URL is the base, without a slash at its end.
	URL string
	// Real answers as the server does when there is no fault.
	Real   http.HandlerFunc
	server *httptest.Server
	mu     sync.Mutex
	asked  []Asked
	faults []*fault
	before func(*http.Request)
}

// Asked is a request that came.
type Asked struct {
	Method, URI string
	Header      http.Header
}

// A fault stands in for the answer of some requests.
type fault struct {
	part   string
	left   int // requests it is still for; below 0 all
	answer http.HandlerFunc
}

// open starts a server on the loopback, closed with the test.
func open(t testing.TB, answer http.HandlerFunc) *Desk {
	d := &Desk{Real: answer}
	d.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before := d.look(); before != nil {
			before(r)
		}
		if instead := d.take(r); instead != nil {
			instead(w, r)
			return
		}
		answer(w, r)
	}))
	d.URL = d.server.URL
	t.Cleanup(func() {
		d.server.CloseClientConnections()
		d.server.Close()
	})
	return d
}

// take notes a request and finds the fault that is for it.
func (d *Desk) take(r *http.Request) http.HandlerFunc {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, Asked{r.Method, r.URL.RequestURI(), r.Header.Clone()})
	for _, f := range d.faults {
		if f.left != 0 && strings.Contains(r.URL.RequestURI(), f.part) {
			f.left--
			return f.answer
		}
	}
	return nil
}

// Before has look told of each request before it is answered; nil ends that.
func (d *Desk) Before(look func(*http.Request)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = look
}

func (d *Desk) look() func(*http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.before
}

// Fail gives this answer to the next requests, so many of them (below 0: to all), whose URI
// holds part.
func (d *Desk) Fail(part string, times int, answer http.HandlerFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = append(d.faults, &fault{part, times, answer})
}

// Heal forgets all faults.
func (d *Desk) Heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = nil
}

// Asked are the requests so far whose URI holds part, in order.
func (d *Desk) Asked(part string) []Asked {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(d.asked), func(a Asked) bool { return !strings.Contains(a.URI, part) })
}

// Forget forgets the requests so far.
func (d *Desk) Forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = nil
}

// Cut breaks all connections.
func (d *Desk) Cut() { d.server.CloseClientConnections() }

// answerJSON answers with one line of JSON.
func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// An object is a JSON object.
type object = map[string]any
