package pump

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"srpump/pump/poll"
)

// A record is what is remembered of a file.
type record struct {
	poll.Entry
	waits bool // it was seen, may be growing, and is not announced yet
	fresh bool // it is to be announced now; never remembered so
	stood int  // passes since it was to be announced, while standing by; 0 when that is not ours to do any more
}

// A listing is a directory as it was seen.
type listing struct {
	files map[string]record // announced, or waiting to be
	subs  map[string]bool   // the directories in it
	fresh []found           // to announce now
	raw   []byte            // the file it was read from
}

func newListing() listing {
	return listing{files: make(map[string]record), subs: make(map[string]bool)}
}

// file takes up a file, the first of a name only.
func (l *listing) file(r record, c Choice) {
	if _, twice := l.files[r.Name]; twice {
		return
	}
	if r.fresh {
		l.fresh = append(l.fresh, found{r.Entry, c})
		r.fresh = false
	}
	l.files[r.Name] = r
}

// listingHead begins the file of a listing; the directory stands behind it. Each line below
// is one name: kind (f file, w waiting, d directory, a number: passes stood by), size, whether it was rounded, time and
// its precision in ns since 1970, name. Listings of v02, which are lines of ls, are
// understood too, so that taking over a host announces nothing twice.
const listingHead = "srpump listing 1 "

// listingPath is the file of a directory: ls_ and its path with / as _, as v02 has it. Where
// that could be the file of another directory too, a hash tells them apart.
func (q *poller) listingPath(dir string) string {
	name := plainListing(dir)
	if strings.Contains(dir, "_") || strings.HasSuffix(dir, ".new") || len(name) > longestListing {
		name = fmt.Sprintf("%s~%016x", name[:min(len(name), longestListing)], xxhash.Sum64String(dir))
	}
	return filepath.Join(q.cfg.State().Dir(), name)
}

// longestListing leaves the name of a file room for a hash and an ending.
const longestListing = 200

func plainListing(dir string) string { return "ls_" + strings.ReplaceAll(dir, "/", "_") }

// recall reads what is remembered of a directory. What cannot be read is announced again.
func (q *poller) recall(dir string) listing {
	l := newListing()
	raw, err := os.ReadFile(q.listingPath(dir))
	if errors.Is(err, fs.ErrNotExist) && len(plainListing(dir)) <= longestListing {
		raw, err = os.ReadFile(filepath.Join(q.cfg.State().Dir(), plainListing(dir)))
		if bytes.HasPrefix(raw, []byte(listingHead)) { // of another directory
			return l
		}
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			q.host.Log.Warn("listing not recalled", "directory", dir, "error", err)
		}
		return l
	}
	l.raw = raw
	if head, rest, _ := bytes.Cut(raw, []byte("\n")); bytes.HasPrefix(head, []byte(listingHead)) {
		l.parse(rest)
		return l
	}
	_, err = poll.Lines(bytes.NewReader(raw), poll.Options{Now: q.host.Now(), Zone: q.zone}, func(e poll.Entry) error {
		l.known(record{Entry: e})
		return nil
	})
	if err != nil {
		q.host.Log.Warn("listing not recalled", "directory", dir, "error", err)
	}
	return l
}

func (l *listing) known(r record) {
	if r.Dir {
		l.subs[r.Name] = true
		return
	}
	l.files[r.Name] = r
}

// parse reads the lines of a file of ours; one that is damaged is left out.
func (l *listing) parse(lines []byte) {
	for line := range strings.Lines(string(lines)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 6)
		if len(f) < 6 || f[5] == "" {
			continue
		}
		size, err1 := strconv.ParseInt(f[1], 10, 64)
		at, err2 := strconv.ParseInt(f[3], 10, 64)
		precision, err3 := strconv.ParseInt(f[4], 10, 64)
		if err1 != nil || err2 != nil || err3 != nil {
			continue
		}
		r := record{Entry: poll.Entry{Name: f[5], Dir: f[0] == "d", Size: size, Approx: f[2] == "~", Precision: time.Duration(precision)}, waits: f[0] == "w"}
		if n, err := strconv.Atoi(f[0]); err == nil {
			r.stood = n
		}
		if precision > 0 {
			r.ModTime = time.Unix(0, at).UTC()
		}
		l.known(r)
	}
}

// text is the file of a listing.
func (l *listing) text(dir string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%s\n", listingHead, dir)
	for _, name := range slices.Sorted(maps.Keys(l.subs)) {
		fmt.Fprintf(&b, "d -1 = 0 0 %s\n", name)
	}
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		r := l.files[name]
		kind, rounded, at := "f", "=", int64(0)
		switch {
		case r.waits:
			kind = "w"
		case r.stood > 0:
			kind = strconv.Itoa(r.stood)
		}
		if r.Approx {
			rounded = "~"
		}
		if r.Precision > 0 {
			at = r.ModTime.UnixNano()
		}
		fmt.Fprintf(&b, "%s %d %s %d %d %s\n", kind, r.Size, rounded, at, r.Precision, name)
	}
	return b.Bytes()
}

// keep remembers a directory, where it is not what is remembered already.
func (q *poller) keep(dir string, old, now listing) {
	text := now.text(dir)
	if bytes.Equal(text, old.raw) {
		return
	}
	at := q.listingPath(dir)
	err := os.MkdirAll(filepath.Dir(at), 0o775)
	if err == nil {
		err = writeFile(at, text)
	}
	if err != nil {
		q.host.Log.Error("listing not remembered", "directory", dir, "error", err)
	}
}

// prune removes listings of directories no longer looked at, as those of past days are, once
// they are older than any file announced.
func (q *poller) prune(seen map[string]bool) {
	if q.oldest <= 0 {
		return
	}
	kept := make(map[string]bool, len(seen))
	for dir := range seen {
		kept[q.listingPath(dir)] = true
	}
	files, err := q.listings()
	for _, f := range files {
		info, serr := os.Stat(f)
		if kept[f] || serr != nil || q.host.Now().Sub(info.ModTime()) <= q.oldest {
			continue
		}
		err = errors.Join(err, os.Remove(f))
	}
	if err != nil {
		q.host.Log.Warn("old listings not removed", "error", err)
	}
}

// listings are the files of all directories remembered.
func (q *poller) listings() ([]string, error) {
	entries, err := os.ReadDir(q.cfg.State().Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "ls_") {
			out = append(out, filepath.Join(q.cfg.State().Dir(), e.Name()))
		}
	}
	return out, err
}

// forgetAll forgets every directory, so that all that is there is new.
func (q *poller) forgetAll() error {
	files, err := q.listings()
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	if err != nil {
		return fmt.Errorf("cannot reset: %w", err)
	}
	return nil
}
