package test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// progress of a running process: the file that is being fetched and how much of it is here; of one that does not run,
// that it does not.
func TestProgressAction(t *testing.T) {
	h, half := newHost(t), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "2097152")
		_, _ = w.Write(make([]byte, 1<<20))
		w.(http.Flusher).Flush()
		<-half
		_, _ = w.Write(make([]byte, 1<<20))
	}))
	t.Cleanup(s.Close)
	h.write("src/big", strings.Repeat("\x00", 2<<20))
	h.write("home/.config/sarra/subscribe/x.conf", "broker sqlite://"+h.path("pump.db")+"\ndirectory "+h.path("dst")+"\naccept .*\n")
	if out, _ := h.run(1, "", "sr_subscribe", "progress", "x"); !strings.Contains(out, "sr_subscribe x is not running") {
		t.Errorf("without a process it says %s", out)
	}
	r := h.start("sr_subscribe", "foreground", "x")
	r.await("consuming")
	h.run(0, "", "sr_post", "-pb", "sqlite://"+h.path("pump.db"), "-pbu", s.URL+"/", "-pbd", h.path("src"), "-p", h.path("src/big"))
	var now struct {
		Config    string
		Transfers []struct {
			Path       string
			Size, Here int64
		}
	}
	waitFor(t, "half the file", func() bool {
		out, _ := h.run(0, "", "sr_subscribe", "progress", "-json", "x")
		must(t, json.Unmarshal([]byte(out), &now))
		return len(now.Transfers) == 1 && now.Transfers[0].Here >= 1<<20
	}, r.text)
	if now.Config != "x" || now.Transfers[0].Path != h.path("dst/big") || now.Transfers[0].Size != 2<<20 {
		t.Errorf("progress is %+v", now)
	}
	out, _ := h.run(0, "", "sr_subscribe", "progress", "x")
	if !strings.Contains(out, h.path("dst/big")+" 50% 1.0 MiB 0 B/s\n") || !strings.Contains(out, "sr_subscribe x: 1 transfer,") {
		t.Errorf("progress is\n%s", out)
	}
	close(half)
	r.await("fetched path")
	r.stop()
}
