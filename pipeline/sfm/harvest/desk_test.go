package harvest_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/sfm/platform"
)

// A desk is where harvests of one collection are asked for, and what is said of them heard.
type desk struct {
	t          *testing.T
	collection string
	options    harvest.Options
	log        lockedText

	mu     sync.Mutex
	said   []spoken
	number uint64
	fail   error // of Put
}

// A lockedText is a log that several write and one reads.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newDesk has harvests ask base in place of their platforms.
func newDesk(t *testing.T, base string) *desk {
	d := &desk{t: t, collection: filepath.Join(t.TempDir(), "s", "k")}
	d.options = harvest.Options{Out: d, Types: platform.Types(), Bases: make(map[string]string), Tries: 3, TryPause: time.Millisecond, Paused: true,
		Patience: harvest.Patience{Tries: 2, Pause: time.Millisecond}, Log: slog.New(slog.NewTextHandler(&d.log, nil)), Now: time.Now,
		Host: "here", Instance: "1", Software: "test"}
	for _, kind := range d.options.Types {
		d.options.Bases[kind.Name] = base
	}
	return d
}

func (d *desk) Next(least uint64) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.number = max(d.number+1, least)
	return d.number
}

func (d *desk) Put(_ uint64, key, _ string, _ map[string]any, body []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail == nil {
		d.said = append(d.said, spoken{key, body})
	}
	return d.fail
}

// job is a request in the collection.
func (d *desk) job(id, kind, seeds string) harvest.Job {
	body := fmt.Sprintf(`{"id":%q,"type":%q,"path":%q,"seeds":%s,"credentials":{"key":"0123456789abcdef","access_token":"ABCDEFGHIJKL"},
		"collection_set":{"id":"s"},"collection":{"id":"k"}}`, id, kind, d.collection, seeds)
	return harvest.Job{Body: []byte(body)}
}

// run does a harvest and forgets what was said before.
func (d *desk) run(ctx context.Context, job harvest.Job, want harvest.Outcome) {
	d.t.Helper()
	d.mu.Lock()
	d.said = nil
	d.mu.Unlock()
	outcome, err := harvest.New(d.options).Run(ctx, job)
	if outcome != want || err != nil && want != harvest.Unfinished {
		d.t.Fatalf("outcome %v, %v; said %s; log:\n%s", outcome, err, d.said, d.log.String())
	}
}

// statuses are those said.
func (d *desk) statuses() (all []*sfm.Status) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.said {
		if strings.HasPrefix(m.key, "harvest.status.") {
			s, err := sfm.ParseStatus(m.body)
			must(d.t, err)
			all = append(all, s)
		}
	}
	return all
}

func (d *desk) last() *sfm.Status {
	d.t.Helper()
	all := d.statuses()
	if len(all) == 0 {
		d.t.Fatal("no status was said")
	}
	return all[len(all)-1]
}

// words are the statuses said, and the other messages by their keys.
func (d *desk) words() string {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, m := range d.said {
		word := m.key
		if s, err := sfm.ParseStatus(m.body); err == nil {
			word = s.Status
		}
		out = append(out, word)
	}
	return strings.Join(out, ", ")
}

func counted(s *sfm.Status) (n int64) {
	for _, day := range s.Stats {
		for _, count := range day {
			n += count
		}
	}
	return n
}

func codes(notes []sfm.Note) string {
	var out []string
	for _, n := range notes {
		out = append(out, strings.TrimSpace(n.Code+" "+n.SeedID))
	}
	return strings.Join(out, ", ")
}
