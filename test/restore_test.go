package test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// savedLines are how many different announcements the save files hold.
func savedLines(t *testing.T, pattern string) int {
	files, err := filepath.Glob(pattern)
	must(t, err)
	seen := make(map[string]bool)
	for _, f := range files {
		text, err := os.ReadFile(f)
		must(t, err)
		for line := range bytes.Lines(text) {
			seen[string(line)] = bytes.HasSuffix(line, []byte("]\n"))
		}
	}
	return len(seen)
}

// What was announced is saved whatever kills the flow meanwhile, and all of it reaches the one queue it is
// restored to, also after a kill; nobody else hears of it.
func TestSaveAndRestoreToQueue(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		n := scale(300, 5000)
		h, conn := newHost(t), connect(t, url)
		from := fresh("xs_guest")
		others := captureFrom(t, conn, from)
		args := []string{"-b", url, "-exchange", from, "-queue_name", fresh("q_guest_save"), "-save_file", h.path("kept")}
		saving := append([]string{"-save"}, args...)
		s := h.start("sr_shovel", saving...)
		s.await("consuming")
		for i := range n {
			publish(t, conn, announcementTo(t, from, i))
			if i == n/2 {
				s.kill()
				s = h.start("sr_shovel", saving...)
			}
		}
		waitFor(t, "all are saved", func() bool { return savedLines(t, h.path("kept*")) >= n && others.different() == n })
		s.stop()
		heard := others.len()

		elsewhere := fresh("xs_guest")
		got := captureFrom(t, conn, elsewhere)
		restoring := append([]string{"-restore", "-restore_to_queue", got.queue, "-px", elsewhere}, args...)
		s = h.start("sr_shovel", restoring...)
		waitFor(t, "some are there", func() bool { return got.different() > 0 })
		s.kill()
		h.run(0, "", "sr_shovel", restoring...)
		waitFor(t, "all are there", func() bool { return got.different() == n })
		if others.len() != heard {
			t.Errorf("others heard of %d", others.len()-heard)
		}
		_, errs := h.run(0, "", "sr_shovel", restoring...)
		h.run(3, "", "sr_post", "-pb", url, "-pbu", "http://h/", "-restore_to_queue", fresh("q_guest_none"), h.path("gone"))
		if !strings.Contains(errs, "nothing to restore") {
			t.Errorf("%s", errs)
		}
	})
}
