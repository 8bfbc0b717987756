package hook_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a hook leaves behind outside of its process group may hold its pipes for as long as it likes: the
// next event is served all the same, and so is the stop.
func TestExecThatLeavesAStrangerBehind(t *testing.T) {
	b := newBed(t)
	pid := b.dir + "/pid"
	c := b.chain(b.loop("h", "case $line in *once*) test -e "+pid+" || { setsid sh -c 'echo $$ >"+pid+"; exec sleep 1000' & while ! test -s "+pid+"; do :; done; exit 7; };; esac; echo true"))
	t.Cleanup(func() {
		text, _ := os.ReadFile(pid)
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if ok, err := c.Run(ctx, event("once")); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
}
