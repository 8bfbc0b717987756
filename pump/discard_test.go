package pump

import (
	"os"
	"testing"

	"srpump/pump/config"
)

// sr_options(5), discard: nothing stays of what was fetched, so nothing is announced. Only
// sr_subscribe does so: a shared file cannot make sr_sarra throw files away.
func TestDiscard(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/x": "hello"})
	got := h.capture("xcopy")
	args := []string{"-exchange", "xin", "-post_broker", "sqlite://" + h.dir + "/pump.db", "-post_exchange", "xcopy",
		"-post_base_url", "http://me/", "-directory", h.dir + "/out", "-discard", "-accept", ".*"}
	a := announced(web.URL+"/", "x", "hello", 1700000000)
	f, stop := h.run(config.Subscribe, args...)
	h.post("xin", a)
	h.until("it is fetched", func() bool { n, _ := f.jobs.len(); return n == 0 && f.Counters.Fetched.Load() == 1 })
	stop()
	if left, _ := os.ReadDir(h.dir + "/out"); len(left) > 0 || len(got()) > 0 || f.Counters.Bytes.Load() != 5 {
		t.Errorf("left %v, announced %v, %d bytes", left, got(), f.Counters.Bytes.Load())
	}
	h.run(config.Sarra, args...)
	h.post("xin", a)
	h.until("the copy is announced", func() bool { return len(got()) == 1 })
	if s := h.content("out/x"); s != "hello" {
		t.Errorf("the file is %q", s)
	}
}
