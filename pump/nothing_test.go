package pump

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"srpump/pump/config"
)

// An hour without anything accepted is said once, with the line that rejects; who accepts anything,
// and a clock that is set back, are left alone.
func TestNothingAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		sent int
		jump time.Duration
		want string // of the hint; empty: nothing is said
	}{
		"rejected":  {[]string{"-reject", ".*", "-exchange", "xin"}, 2, time.Hour, "rejected 2 of them"},
		"unmatched": {[]string{"-accept", "never", "-accept_unmatch", "off", "-exchange", "xin"}, 1, time.Hour, "see accept_unmatch"},
		"nothing":   {[]string{"-exchange", "xin", "-subtopic", "a.#"}, 0, time.Hour, "nothing comes in for xin v02.post.a.#"},
		"early":     {[]string{"-reject", ".*", "-exchange", "xin"}, 1, time.Hour - time.Minute, ""},
		"accepted":  {[]string{"-exchange", "xin"}, 1, time.Hour, ""},
		"set back":  {[]string{"-reject", ".*", "-exchange", "xin"}, 1, -time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			var offset atomic.Int64
			host := h.host()
			host.Now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
			f, err := NewFlow(h.config(config.Winnow, append(c.args, "-post_exchange", "xout")...), host)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- f.Run(ctx) }()
			h.until("consuming", func() bool { return strings.Contains(h.log.String(), "consuming") })
			for range c.sent {
				h.post("xin", announced("http://h/", "/b/f", "x", 1))
			}
			h.until("received", func() bool { return f.Counters.Received.Load() == int64(c.sent) })
			h.until("decided", func() bool { return f.Counters.Rejected.Load()+f.Counters.Announced.Load() == int64(c.sent) })
			f.wonder()
			offset.Store(int64(c.jump))
			f.wonder()
			f.wonder()
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			said := strings.Count(h.log.String(), "nothing accepted in an hour")
			if c.want == "" && said != 0 || c.want != "" && (said != 1 || !strings.Contains(h.log.String(), c.want)) {
				t.Errorf("said %d times", said)
			}
		})
	}
}
