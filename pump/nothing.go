package pump

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// A nothing is the suspicion that a flow takes nothing because of how it is configured: said
// once, when an hour has passed without any announcement being accepted.
type nothing struct {
	mu    sync.Mutex
	since time.Time
	lines map[string]int64 // rejections by the line that decided; empty: no line matched
	said  bool
}

// nothingFor is how long nobody wonders.
const nothingFor = time.Hour

// reject notes who turned an announcement away.
func (n *nothing) reject(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lines == nil {
		n.lines = make(map[string]int64)
	}
	n.lines[line]++
}

// most is the line that rejected most, in words.
func (n *nothing) most() string {
	line, count := "", int64(-1)
	for l, k := range n.lines {
		if k > count || k == count && l < line {
			line, count = l, k
		}
	}
	if line == "" {
		return "what no accept line matches is rejected, see accept_unmatch"
	}
	return fmt.Sprintf("the line %s rejected %d of them", line, count)
}

// due reports, once, that an hour is over. The clock may be set back: then the hour begins anew.
func (n *nothing) due(now time.Time) bool {
	if n.since.IsZero() || now.Before(n.since) {
		n.since = now
	}
	if n.said || now.Sub(n.since) < nothingFor {
		return false
	}
	n.said = true
	return true
}

// wonder says that nothing was accepted so far, and what may be the reason.
func (f *Flow) wonder() {
	c := &f.Counters
	received, rejected := c.Received.Load(), c.Rejected.Load()
	n := &f.nothing
	n.mu.Lock()
	defer n.mu.Unlock()
	if f.standby.waiting() {
		n.since = time.Time{}
		return
	}
	if received > rejected+c.Malformed.Load() || !n.due(f.host.Now()) {
		return
	}
	hint := n.most()
	switch {
	case received > 0 && rejected == 0:
		hint = "nothing that comes in can be understood: see " + f.DeadLetters()
	case received == 0:
		var bound []string
		for _, b := range f.cfg.Bindings {
			bound = append(bound, b.Exchange+" "+b.Key())
		}
		hint = "nothing comes in for " + strings.Join(bound, ", ") + ": compare exchange and subtopic with what is announced"
	}
	f.host.Log.Warn("nothing accepted in an hour", "received", received, "rejected", rejected, "hint", hint)
}
