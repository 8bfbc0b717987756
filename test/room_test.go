package test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// What could never fit is given up, in one piece or in blocks, and what comes after it is fetched (sr_options(5), min_free).
func TestNeverFits(t *testing.T) {
	h := newHost(t)
	smallDisk(t, h.path("dst"), "8m")
	h.write("src/huge", "")
	must(t, os.Truncate(h.path("src/huge"), 12<<20))
	h.write("src/one", strings.Repeat("1", 1<<20))
	h.write("src/two", strings.Repeat("2", 1<<20))
	url, base := "sqlite://"+h.path("pump.db"), serveDir(t, h.path("src"))
	r := h.start("sr_subscribe", "-b", url, "-exchange", "xin", "-directory", h.path("dst"), "-retry_permanent", "1")
	r.await("consuming")
	post := func(name string, args ...string) {
		h.run(0, "", "sr_post", append(args, "-pb", url, "-post_exchange", "xin", "-pbu", base, "-pbd", h.path("src"), "-p", h.path("src", name))...)
	}
	post("huge")
	post("one")
	r.await(`given up path=\S*/huge .*larger than the filesystem`)
	r.await(`fetched path=\S*/dst/one`)
	post("huge", "-blocksize", "6M", "-reset")
	post("two")
	r.await(`fetched path=\S*/dst/two`)
	waitFor(t, "both blocks are given up", func() bool { return strings.Count(r.text(), "given up") == 3 }, r.text)
	if r.says("paused") || r.says("block fetched") || len(present(t, h.path("dst"))) != 2 {
		t.Errorf("it says:\n%s", r.text())
	}
	r.stop(1)
}

// A file in blocks is begun when there is room for all of it: one that would not fit leaves the disk as it is, with
// min_free and without.
func TestRoomForAllBlocks(t *testing.T) {
	for name, min := range map[string]string{"min_free": "1M", "none": "0"} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			smallDisk(t, h.path("dst"), "8m")
			h.write("src/one", strings.Repeat("1", 5<<20))
			h.write("src/two", strings.Repeat("2", 4<<20))
			url, base := "sqlite://"+h.path("pump.db"), serveDir(t, h.path("src"))
			r := h.start("sr_subscribe", "-b", url, "-exchange", "xin", "-directory", h.path("dst"), "-min_free", min)
			r.await("consuming")
			for _, name := range []string{"one", "two"} {
				h.run(0, "", "sr_post", "-pb", url, "-post_exchange", "xin", "-pbu", base, "-pbd", h.path("src"), "-blocksize", "1M", "-p", h.path("src", name))
				if name == "one" {
					r.await(`assembled path=\S*/dst/one`)
				}
			}
			r.await(`paused, too little free space directory=\S*/dst free=3145728 .*path=\S*/dst/two wanted=4194304`)
			var st syscall.Statfs_t
			must(t, syscall.Statfs(h.path("dst"), &st))
			if free := int64(st.Bavail) * st.Bsize; free != 3<<20 {
				t.Errorf("%d bytes are free", free)
			}
			must(t, os.Remove(h.path("dst/one")))
			r.await(`assembled path=\S*/dst/two`)
			r.stop()
		})
	}
}
