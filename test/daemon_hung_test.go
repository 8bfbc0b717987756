package test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// What has work in hand and does not get on hangs, and sanity starts it again; a slow source is none of
// that: its bytes come.
func TestHung(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			_, _ = w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			if strings.Contains(r.URL.Path, "stall") {
				<-r.Context().Done()
				return
			}
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	h := newDaemonHost(t)
	for _, name := range []string{"stall", "slow"} {
		h.configure("subscribe", name, "broker sqlite:"+h.path("b.db")+"\nsubtopic "+name+".#\nsanity_log_dead 2s\ntimeout 600\ndirectory "+h.path("in")+"\n")
	}
	h.run(0, "", "sr", "start")
	for _, name := range []string{"stall", "slow"} {
		h.write("tree/"+name+"/f", strings.Repeat("x", 1000))
	}
	h.run(0, "", "sr_post", "-pb", "sqlite:"+h.path("b.db"), "-pbu", web.URL+"/", "-pbd", h.path("tree"), "-p", h.path("tree"))
	states := func() map[string]string {
		out, _ := h.run(0, "", "sr", "dump")
		m := make(map[string]string)
		for _, c := range h.parse(out).Configurations {
			m[c.Config] = c.State
		}
		return m
	}
	waitFor(t, "nothing hangs", func() bool { return states()["stall"] == "hung" }, func() string { return h.startLog("stall") })
	if s := states(); s["slow"] != "running" {
		t.Errorf("%v", s)
	}
	out, errs := h.run(0, "", "sr", "sanity")
	if !strings.Contains(errs, "sr_subscribe stall hangs") || !strings.Contains(out, "sr_subscribe stall started") || strings.Contains(out, "slow") {
		t.Errorf("said %q %q", out, errs)
	}
}
