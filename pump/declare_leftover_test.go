package pump

import (
	"context"
	"testing"

	"srpump/pump/config"
)

// Cleanup removes the temporary file of a file of which blocks are missing: without the state nobody knows it.
func TestCleanupOfUnfinished(t *testing.T) {
	h := newHouse(t)
	data := noise(3000, 5)
	web := h.blockServer(map[string][]byte{"/x": data})
	args := []string{"-directory", h.dir + "/out"}
	f, stop := h.run(config.Subscribe, args...)
	h.post("xpublic", cutUp(web.URL+"/", "x", data, 1000, 1700000000)[0])
	h.settled(f, 1)
	stop()
	if left := h.leftOver("out"); len(left) != 1 {
		t.Fatalf("unfinished: %v", left)
	}
	if err := Cleanup(context.Background(), h.config(config.Subscribe, args...), h.host()); err != nil {
		t.Fatal(err)
	}
	if left := h.leftOver("out"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
