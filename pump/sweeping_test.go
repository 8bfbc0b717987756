package pump

import (
	"os"
	"strings"
	"testing"
	"time"

	"srpump/pump/config"
)

// sr_subscribe(1), RESUMING: a small file that a kill left under its temporary name is removed once it is old, even
// where its name says nothing of us.
func TestSmallLeftOverIsSwept(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/x": "x"})
	f, stop := h.run(config.Subscribe, "-directory", h.dir+"/out", "-inflight", ".tmp")
	h.post("xpublic", announced(web.URL+"/", "x", "x", 1700000000))
	h.until("it is fetched", func() bool { return f.Counters.Fetched.Load() == 1 })
	stop()
	temp := h.dir + "/out/x.tmp" // as if it had not come to the rename
	if err := os.Rename(h.dir+"/out/x", temp); err != nil {
		t.Fatal(err)
	}
	h.write("out/other.tmp", "precious")
	f.sweep(time.Hour)
	if h.content("out/x.tmp") != "x" {
		t.Error("swept before its time")
	}
	f.sweep(-time.Hour)
	if _, err := os.Stat(temp); !os.IsNotExist(err) || !strings.Contains(h.log.String(), "left-over removed") {
		t.Errorf("not swept: %v", err)
	}
	if h.content("out/other.tmp") != "precious" {
		t.Error("swept what is another's")
	}
}
