package pump

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"srpump/pump/broker"
	"srpump/pump/config"
)

// sr_options(5), since: durations, date stamps in UTC, dates in the zone of the host.
func TestParseSince(t *testing.T) {
	zone := time.FixedZone("EST", -5*3600)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, zone)
	at := func(s string) time.Time {
		d, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for word, want := range map[string]time.Time{
		"": {}, "none": {},
		"90": now.Add(-90 * time.Second), "2d": now.AddDate(0, 0, -2), "1.5h": now.Add(-90 * time.Minute), "10000000s": now.Add(-10000000 * time.Second),
		"20261120093000.5": at("2026-11-20T09:30:00.5Z"), "20261120T0930": at("2026-11-20T09:30:00Z"),
		"2026-11-20": at("2026-11-20T00:00:00-05:00"), "2026-11-20T09:30": at("2026-11-20T09:30:00-05:00"), "2026-11-20T09:30:15": at("2026-11-20T09:30:15-05:00"),
		"2026-11-20T09:30Z": at("2026-11-20T09:30:00Z"), "2026-11-20T09:30:15+02:00": at("2026-11-20T09:30:15+02:00"),
		"2027-11-20": at("2027-11-20T00:00:00-05:00"),
	} {
		if got, err := parseSince(word, now); err != nil || !got.at.Equal(want) {
			t.Errorf("%q is %v %v, want %v", word, got.at, err, want)
		}
	}
	for _, word := range []string{"yesterday", "20261120", "-2d", "2d3h", "inf", "NaN", "2026-13-01", "2026-11-20 09:30", "1e9", "99999999999999999d"} {
		if got, err := parseSince(word, now); !errors.Is(err, errSince) || broker.Hint(err) == "" {
			t.Errorf("%q is %v %v", word, got.at, err)
		}
	}
	h := newHouse(t)
	if _, err := NewPoster(h.config(config.Post, "-post_broker", "-", "-since", "yesterday"), h.host()); !errors.Is(err, errSince) {
		t.Errorf("a bad since: %v", err)
	}
}

// since runs a poster of base as if the time were now.
func (h *house) since(now time.Time, args ...string) []string {
	h.t.Helper()
	host := h.host()
	var out strings.Builder
	host.Stdout, host.Now = &out, func() time.Time { return now }
	p, err := NewPoster(h.config(config.Post, append([]string{"-post_broker", "-", "-post_base_url", "http://h.example/", "-post_base_dir", h.dir + "/base"}, args...)...), host)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := p.Post(context.Background(), []string{h.dir + "/base"}); err != nil {
		h.t.Fatal(err)
	}
	var names []string
	for _, l := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if _, rel, ok := strings.Cut(l, "http://h.example/ "); ok {
			names = append(names, strings.TrimSuffix(rel, `"]`))
		}
	}
	slices.Sort(names)
	return names
}

// Only what changed since is announced, at the boundary rather too much; the time of the inode
// tells of files moved in, which keep the time of their contents; directories that did not
// change are walked.
func TestPostSince(t *testing.T) {
	h := newHouse(t)
	changed := time.Now()
	old := changed.AddDate(-1, 0, 0)
	for _, name := range []string{"base/old/dir/moved", "base/later"} {
		h.write(name, "x")
	}
	if err := os.Chtimes(filepath.Join(h.dir, "base/old/dir/moved"), old, old); err != nil {
		t.Fatal(err)
	}
	next := changed.AddDate(1, 0, 0)
	if err := os.Chtimes(filepath.Join(h.dir, "base/later"), next, next); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(h.dir, "base/old/dir"), old, old); err != nil {
		t.Fatal(err)
	}
	all := []string{"later", "old/dir/moved"}
	for _, c := range []struct {
		what  string
		now   time.Time
		since string
		want  []string
	}{
		{"all of them", changed, "1h", all},
		{"no option", changed, "none", all},
		{"the boundary", changed.Add(time.Hour), "1h", all},
		{"after the change, but for times set to the future", changed.Add(2 * time.Hour), "1h", []string{"later"}},
		{"the clock was set back", changed.AddDate(0, 0, -3), "1h", all},
		{"a time to come", changed, changed.AddDate(2, 0, 0).Format(time.DateOnly), nil},
	} {
		if got := h.since(c.now, "-since", c.since); !slices.Equal(got, c.want) {
			t.Errorf("%s: announced %q, want %q", c.what, got, c.want)
		}
	}
	if log := h.log.String(); !strings.Contains(log, "announcing what changed since") || !strings.Contains(log, "since is in the future") {
		t.Error("it did not say since when")
	}
}

// A link that is followed is as new as what it leads to.
func TestPostSinceLink(t *testing.T) {
	h := newHouse(t)
	target := h.write("base/.d/target", "x")
	if err := os.Symlink(target, h.dir+"/base/link"); err != nil {
		t.Fatal(err)
	}
	now := time.Now().Add(2 * time.Hour)
	if err := os.Chtimes(target, now, now); err != nil {
		t.Fatal(err)
	}
	if got := h.since(now, "-since", "1h"); !slices.Equal(got, []string{".d/target"}) {
		t.Errorf("announced %q, not what a link leads to alone", got)
	}
	if got := h.since(now, "-since", "1h", "-follow_symlinks", "on"); len(got) != 3 {
		t.Errorf("announced %q, want link and file, and the file that the link leads to", got)
	}
}

// sr_watch: since bounds the first walk only, and neither what the last run left nor what changes.
func TestWatchSince(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	h.write("base/there", "1")
	left := h.write("base/left", "2")
	p := h.poster(config.Watch, "-since", "2099-01-01")
	if err := p.remember([]string{left}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Watch(ctx, []string{h.dir + "/base"}) }()
	h.until("the walk is over", func() bool { return strings.Contains(h.log.String(), "msg=watching") })
	h.write("base/new", "3")
	h.until("what was left and what comes", func() bool { return len(got()) >= 2 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, a := range got() {
		if a.Path == "there" {
			t.Errorf("announced %s, older than since", a.Path)
		}
	}
}
