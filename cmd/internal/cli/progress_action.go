package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"srpump/pump"
	"srpump/pump/config"
	"srpump/pump/daemon"
)

// A progressNow is what a running process answers, for people and programs.
type progressNow struct {
	Component string        `json:"component"`
	Config    string        `json:"config"`
	Transfers []transferNow `json:"transfers"`
	Counters  daemon.Counts `json:"counters"`
	InHand    int           `json:"in_hand"` // announcements begun and not done
	Retries   int           `json:"retries"` // waiting on disk
	Paused    string        `json:"paused,omitempty"`
}

// A transferNow is one transfer that runs, with how fast it is.
type transferNow struct {
	pump.Transfer
	Rate float64 `json:"bytes_per_second"`
}

// fetching is a worker that can say what it is at.
type fetching interface{ Transfers() []pump.Transfer }

// progressActions ask a running process.
func progressActions(p config.Preset) []action {
	if p&(config.Subscribe|config.Sarra|config.Sender) == 0 {
		return nil
	}
	return []action{{"progress", "[config]", "say what it is fetching or sending, how far and how fast; -json for programs", func(ctx context.Context, s *session, args []string) error {
		asJSON := given(s.words, "json")
		s.words = slices.DeleteFunc(s.words, func(w []string) bool { return w[0] == "json" })
		return s.eachTarget(ctx, args, func(s *session, ctx context.Context, t target) error { return s.tellProgress(ctx, t, asJSON) })
	}}}
}

// progressNow is what a process answers who asks it.
func (p *pulse) progressNow() progressNow {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := progressNow{Paused: p.p.PausedFor, Transfers: []transferNow{}}
	if p.w == nil {
		return n
	}
	n.Counters, n.Retries = p.counts(), p.w.Retries()
	n.InHand, _ = p.w.InHand()
	if w, ok := p.w.(fetching); ok {
		n.Transfers = transfersOf(w)
	}
	return n
}

func transfersOf(w fetching) []transferNow {
	out := []transferNow{}
	for _, t := range w.Transfers() {
		out = append(out, transferNow{Transfer: t})
	}
	return out
}

// rateTime is how long two looks are apart of which the difference is a rate.
const rateTime = 500 * time.Millisecond

// tellProgress asks twice, for a rate, and prints the second answer.
func (s *session) tellProgress(ctx context.Context, t target, asJSON bool) error {
	var now progressNow
	began := time.Now()
	err := daemon.Ask(t.st, &now)
	if err == nil && len(now.Transfers) > 0 {
		before := now.Transfers
		select {
		case <-time.After(rateTime):
		case <-ctx.Done():
			return ctx.Err()
		}
		now = progressNow{}
		err = daemon.Ask(t.st, &now)
		rates(before, now.Transfers, time.Since(began))
	}
	if errors.Is(err, daemon.ErrSilent) {
		s.sayf("%s %s is not running", s.program, t.name)
		return errors.Join(errSaid, errNotRunning)
	}
	if err != nil {
		return err
	}
	now.Component, now.Config = s.program, t.name
	if asJSON {
		return json.NewEncoder(s.Stdout).Encode(now)
	}
	for _, tr := range now.Transfers {
		s.sayf("%s", tr.line(tr.Path))
	}
	s.sayf("%s", now.total())
	return nil
}

// rates tells from two looks how fast each transfer is.
func rates(before, now []transferNow, d time.Duration) {
	for i := range now {
		for _, b := range before {
			if b.Path == now[i].Path && b.Began.Equal(now[i].Began) {
				now[i].Rate = max(0, float64(now[i].Here-b.Here)/d.Seconds())
			}
		}
	}
}

// line is the transfer for people, under a name.
func (t transferNow) line(name string) string {
	var b strings.Builder
	b.WriteString(name)
	if t.Size > 0 {
		fmt.Fprintf(&b, " %d%%", min(100, t.Here*100/t.Size))
	}
	fmt.Fprintf(&b, " %s %s/s", humanize.IBytes(uint64(t.Here)), humanize.IBytes(uint64(t.Rate)))
	if left := t.Size - t.Here; left > 0 && t.Rate > 0 {
		fmt.Fprintf(&b, " %v left", time.Duration(float64(left)/t.Rate*float64(time.Second)).Round(time.Second))
	}
	return b.String()
}

// total is what all transfers come to.
func (n progressNow) total() string {
	rate := 0.0
	for _, t := range n.Transfers {
		rate += t.Rate
	}
	s := fmt.Sprintf("%s %s: %s, %s/s; %s, %s fetched, %d in hand, %d to be tried again", n.Component, n.Config, count(int64(len(n.Transfers)), "transfer", "transfers"),
		humanize.IBytes(uint64(rate)), count(n.Counters["fetched"], "file", "files"), humanize.IBytes(uint64(n.Counters["bytes"])), n.InHand, n.Retries)
	if n.Paused != "" {
		s += ", paused: " + n.Paused
	}
	return s
}

// linesOf are the transfers worth a line: those that have run for a while.
func linesOf(all []transferNow, now time.Time) (out []string) {
	const after, most = 2 * time.Second, 8
	for _, t := range all {
		if now.Sub(t.Began) > after && len(out) < most {
			out = append(out, t.line(filepath.Base(t.Path)))
		}
	}
	return out
}
