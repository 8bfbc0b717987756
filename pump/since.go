package pump

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"srpump/post"
	"srpump/post/watch"
	"srpump/pump/broker"
)

// A since is the option since: a walk announces only what changed then or later. The zero
// value announces everything. What is gone has no time and is always announced.
type since struct{ at time.Time }

// coarse is how much older than its change the time of a file may look: FAT keeps even
// seconds, the kernel's clock for files is some milliseconds late.
const coarse = 2 * time.Second

var errSince = errors.New("it is no duration and no time")

// ParseTime reads a time as the option since does; the empty word is the zero time.
func ParseTime(word string, now time.Time) (time.Time, error) {
	s, err := parseSince(word, now)
	return s.at, err
}

// parseSince reads a duration before now, a date stamp as in announcements (UTC), or a date
// with or without a time of day, in the zone of now unless it names one.
func parseSince(word string, now time.Time) (since, error) {
	if word == "" || strings.EqualFold(word, "none") {
		return since{}, nil
	}
	if t, err := post.ParseTimestamp(strings.TrimSuffix(word, "Z")); err == nil {
		return since{t.Time()}, nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", time.RFC3339} {
		if t, err := time.ParseInLocation(layout, word, now.Location()); err == nil {
			return since{t}, nil
		}
	}
	// A date without dashes is not a number of seconds.
	if d, err := ago(word); err == nil && d >= 0 && strings.Trim(word, "0123456789.smhdwSMHDW") == "" && (len(word) < len("20060102") || strings.Trim(word, "0123456789.") != "") {
		return since{now.Add(-d)}, nil
	}
	return since{}, &broker.Error{Op: "use since", Object: word, Kind: errSince,
		Hint: "write 6h or 2d, or a time such as 2026-11-21T09:30 (of this host's zone) or 20261121093000 (UTC)"}
}

// covers reports whether a path is announced. Either time counts: a file moved in keeps the
// time of its contents and gets a new one of its inode, and a program may set the former to
// the future only. A link to be followed is as new as what it leads to.
func (s since) covers(e entry, follow bool) bool {
	if s.at.IsZero() || e.info == nil || s.newer(e.info) {
		return true
	}
	if !follow || e.info.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	target, err := os.Stat(e.path)
	return err == nil && s.newer(target)
}

func (s since) newer(info fs.FileInfo) bool {
	from := s.at.Add(-coarse)
	return !watch.ChangeTime(info).Before(from) || !info.ModTime().Before(from)
}

// announceSince says what the option came to, in the zone it was read in.
func (p *Poster) announceSince() {
	if p.since.at.IsZero() {
		return
	}
	now := p.host.Now()
	p.host.Log.Info("announcing what changed since", "since", p.since.at.In(now.Location()).Format(time.RFC3339))
	if p.since.at.After(now) {
		p.host.Log.Warn("since is in the future", "since", p.since.at.In(now.Location()).Format(time.RFC3339), "hint", "is the clock of this host right?")
	}
}
