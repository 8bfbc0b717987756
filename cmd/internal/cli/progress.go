package cli

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"srpump/pump"
)

// A progressLine is a line on a terminal, written over itself, of what a command has done, and above it one for each
// transfer that takes long.
type progressLine struct {
	screen    *screen
	columns   int
	text      func(elapsed time.Duration) string
	transfers func() []transferNow // or nil
	before    []transferNow
	looked    time.Time
}

// progressEvery is how often the line changes; posters of a few files end before the first.
const progressEvery = 250 * time.Millisecond

// progress shows a line until stop is called, when standard error is a terminal
// (or the option progress says so).
func (s *session) progress(n *pump.Counters, text func(*pump.Counters, time.Duration) string, transfers func() []transferNow) (stop func()) {
	columns, tty := 80, false
	if s.TTY != nil {
		if c, ok := s.TTY(); ok {
			columns, tty = c, true
		}
	}
	if p := s.cfg.Values.String("progress"); p == "off" || p == "auto" && !tty {
		return func() {}
	}
	terminal, ok := s.Stderr.(*screen)
	if !ok {
		terminal = &screen{w: s.Stderr}
	}
	line := &progressLine{screen: terminal, columns: columns, text: func(d time.Duration) string { return text(n, d) }, transfers: transfers}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); line.run(end) }()
	return func() { close(end); <-ended }
}

func (p *progressLine) run(end <-chan struct{}) {
	start := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			p.screen.show(p.lines(now, start)...)
		case <-end:
			p.screen.show()
			return
		}
	}
}

// lines are those of the transfers and of all that was done, none wider than the terminal.
func (p *progressLine) lines(now, start time.Time) (lines []string) {
	if p.transfers != nil {
		all := p.transfers()
		rates(p.before, all, now.Sub(p.looked))
		p.before, p.looked = all, now
		lines = linesOf(all, now)
	}
	lines = append(lines, p.text(now.Sub(start)))
	for i, text := range lines {
		if p.columns > 1 {
			lines[i] = clip(text, p.columns-1)
		}
	}
	return lines
}

// clip takes the first characters of a text that no control character is in.
func clip(text string, most int) string {
	runes := []rune(oneLine(text))
	return string(runes[:min(len(runes), most)])
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
