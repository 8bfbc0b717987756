package test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// The memory of a fetch does not grow with the file: a sparse one of a GiB, in the long form of 10.
func TestMemoryOfBigFetch(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector needs memory of its own")
	}
	h := newHost(t)
	must(t, os.MkdirAll(h.path("src"), 0o755))
	size := int64(scale(1, 10)) << 30
	f, err := os.Create(h.path("src/big"))
	must(t, err)
	must(t, f.Truncate(size))
	must(t, f.Close())
	r := newReceiver(t, h, "sqlite://"+h.path("pump.db"))
	before := peak(t, r)
	h.run(0, "", "sr_post", "-pb", "sqlite://"+h.path("pump.db"), "-post_exchange", r.exchange, "-sum", "0", "-pbu", serveDir(t, h.path("src"))+"/", "-pbd", h.path("src"), "-p", h.path("src/big"))
	waitWithin(t, 10*time.Minute, "the file", func() bool { return r.says("fetched path") }, r.text)
	if grown := peak(t, r) - before; grown > 32<<20 {
		t.Errorf("a fetch of %d GiB took %d MiB", size>>30, grown>>20)
	}
	r.stop()
}

// peak is the most memory a process has had resident, in bytes.
func peak(t testing.TB, r *receiver) (n int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	must(t, err)
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	_, err = fmt.Sscan(rest, &n)
	must(t, err)
	return n << 10
}
