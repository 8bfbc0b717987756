package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize"

	"srpump/pump"
)

// A progressLine is one line on a terminal, written over itself, of what a command has done.
// The libraries for it draw bars towards a total; this one has no end to draw towards.
type progressLine struct {
	w       io.Writer
	columns int
	text    func(elapsed time.Duration) string
}

// progressEvery is how often the line changes; posters of a few files end before the first.
const progressEvery = 250 * time.Millisecond

// progress shows a line until stop is called, when standard error is a terminal
// (or the option progress says so).
func (s *session) progress(n *pump.Counters, text func(*pump.Counters, time.Duration) string) (stop func()) {
	columns, tty := 80, false
	if s.TTY != nil {
		if c, ok := s.TTY(); ok {
			columns, tty = c, true
		}
	}
	if p := s.cfg.Values.String("progress"); p == "off" || p == "auto" && !tty {
		return func() {}
	}
	line := progressLine{s.Stderr, columns, func(d time.Duration) string { return text(n, d) }}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); line.run(end) }()
	return func() { close(end); <-ended }
}

func (p progressLine) run(end <-chan struct{}) {
	start := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	shown := false
	for {
		select {
		case <-tick.C:
			p.draw(p.text(time.Since(start)))
			shown = true
		case <-end:
			if shown {
				io.WriteString(p.w, "\r\x1b[K")
			}
			return
		}
	}
}

func (p progressLine) draw(text string) {
	if p.columns > 1 && len(text) >= p.columns {
		text = text[:p.columns-1]
	}
	io.WriteString(p.w, "\r"+text+"\x1b[K")
}

func progressPost(n *pump.Counters, d time.Duration) string {
	return fmt.Sprintf("%d files, %s, %s", n.Announced.Load(), size(n), rate(n.Announced.Load(), d))
}

func progressFlow(n *pump.Counters, d time.Duration) string {
	done := n.Fetched.Load() + n.Linked.Load() + n.Removed.Load() + n.Renamed.Load() + n.Unchanged.Load()
	if done == 0 {
		done = n.Announced.Load()
	}
	lag := time.Duration(n.LagNanos.Load()).Round(10 * time.Millisecond)
	return fmt.Sprintf("%d files, %s, %s, lag %s", done, size(n), rate(done, d), lag)
}

func size(n *pump.Counters) string { return humanize.IBytes(uint64(n.Bytes.Load())) }

func rate(n int64, d time.Duration) string {
	return fmt.Sprintf("%.0f files/s", float64(n)/d.Seconds())
}
