package test

import (
	"fmt"
	"testing"
)

// kill -9 of sr_sender at random moments: every file is delivered, equal, and announced there at least
// once; nothing else is at the destination.
func TestKillSender(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h, files := newHost(t), newCorpus(scale(800, 5000))
		files.write(t, h.path("pub"))
		in, out := fresh("xs_guest"), fresh("xs_guest")
		conn := connect(t, url)
		captureFrom(t, conn, in)
		announced := captureFrom(t, conn, out)
		args := []string{"-b", url, "-exchange", in, "-queue_name", fresh("q_guest"), "-base_dir", h.path("pub"),
			"-destination", "file://" + h.path("there"), "-pb", url, "-post_exchange", out, "-pbu", "http://there.example/"}
		start := func() *running {
			r := h.start("sr_sender", args...)
			r.await("consuming")
			return r
		}
		start().kill()
		h.run(0, "", "sr_post", "-pb", url, "-post_exchange", in, "-pbu", "http://nobody.example/", "-pbd", h.path("pub"), "-p", h.path("pub"))
		last := killAlong(t, scale(6, 50), len(files), func() int { return files.arrived(t, h.path("there")) }, start)
		waitFor(t, "all announced", func() bool { return announced.different() == len(files) },
			func() string { return fmt.Sprintf("%d of %d", announced.different(), len(files)) }, last.text)
		if n := files.arrived(t, h.path("there")); n != len(files) {
			t.Errorf("%d of %d files are there", n, len(files))
		}
		for _, a := range announced.all() {
			if files[a.Path] == nil || a.Base != "http://there.example/" {
				t.Fatalf("announced %s %s", a.Base, a.Path)
			}
		}
		last.stop()
		files.onlyIn(t, h.path("there"))
	})
}
