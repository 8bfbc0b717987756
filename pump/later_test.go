package pump

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"srpump/pump/config"
)

// What is to be tried again later is tried while the flow lives, and not once it is stopped.
func TestLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, done := new(Flow), 0
		f.life, f.abort = context.WithCancel(context.Background())
		f.later(func() { done++ })
		time.Sleep(writeAgain)
		synctest.Wait()
		if done != 1 {
			t.Errorf("done %d times", done)
		}
		f.later(func() { done++ })
		time.Sleep(writeAgain / 2)
		f.abort()
		f.pauses.Wait()
		f.later(func() { done++ })
		time.Sleep(2 * writeAgain)
		if done != 1 {
			t.Error("done by a flow that is stopped")
		}
	})
}

// The mark of a run counts one delivery of each queue at least, also of those another number of
// instances has left.
func TestMarkCountsQueues(t *testing.T) {
	h := newHouse(t)
	args := []string{"-exchange", "xin", "-exchange_split", "-notify_only", "-prefetch", "1", "-instances"}
	_, stop := h.run(config.Subscribe, append(args, "5")...)
	stop()
	f, _ := h.run(config.Subscribe, append(args, "2")...)
	if b, err := os.ReadFile(filepath.Join(f.state, "running")); err != nil || strings.TrimSpace(string(b)) != "5" {
		t.Errorf("the mark says %q, %v", b, err)
	}
}
