package harvest

import (
	"crypto/md5"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"srpump/pipeline/sfm/items"
	"srpump/pipeline/warc"
)

// A survey is what is in a WARC.
type survey struct {
	sha1, md5 string // in hexadecimal
	bytes     int64
	count     int64           // of items
	once      items.Seen      // those counted
	links     []string        // addresses in them, sorted
	came      map[string]bool // digests of items that were expected to come once more
	tail      []string        // and of those behind the last kept state
	damage    string          // the first; "" is none
}

// longestTail is how many items may come twice without being counted twice.
const longestTail = 10_000

// look reads a WARC once, for its digests and its items. seen are not counted; at is the length of
// which the state speaks.
func (h *harvest) look(path string, seen map[string]bool, at int64) (*survey, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	hash1, hash5 := sha1.New(), md5.New()
	in := io.TeeReader(f, io.MultiWriter(hash1, hash5))
	s := &survey{came: make(map[string]bool)}
	if err := h.items(in, s, seen, at); err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	s.bytes, s.sha1, s.md5 = info.Size(), hex.EncodeToString(hash1.Sum(nil)), hex.EncodeToString(hash5.Sum(nil))
	return s, nil
}

// items counts the items of a WARC. What is damaged in it is noted, and is no error.
func (h *harvest) items(in io.Reader, s *survey, seen map[string]bool, at int64) error {
	reader, ok := items.For(h.kind.Name)
	if !ok {
		return nil
	}
	reader.Report = func(d items.Damage) { s.damaged(d.Reason) }
	links := make(map[string]bool)
	from := warc.NewReader(in, warc.ReadOptions{Unverified: true, Report: func(f *warc.Fault) {
		if f.Damage() {
			s.damaged(f.String())
		}
	}})
	for {
		rec, err := from.Next()
		if err == io.EOF {
			s.links = slices.Sorted(maps.Keys(links))
			return nil
		}
		if err != nil {
			return err
		}
		if len(reader.Kinds) == 0 && isResource(rec) {
			s.count++
		}
		err = reader.Items(rec, func(i items.Item) error {
			h.tally(s, reader, i, seen, rec.Offset >= at)
			h.collect(links, i)
			return nil
		})
		if err != nil && !errors.As(err, new(*warc.Fault)) {
			return err
		}
	}
}

// isResource tells whether a record of a harvest without items is one of what was asked for.
func isResource(rec *warc.Record) bool {
	return (rec.Type() == warc.Response || rec.Type() == warc.Revisit) && !strings.HasSuffix(rec.URI(), "/robots.txt")
}

func (s *survey) damaged(why string) {
	if s.damage == "" {
		s.damage = why
	}
}

// tally counts an item unless it was counted before.
func (h *harvest) tally(s *survey, r *items.Reader, i items.Item, seen map[string]bool, open bool) {
	if !r.Counts(i) {
		return
	}
	digest := digestOf(i)
	if seen[digest] {
		s.came[digest] = true
	} else if h.kind.Stream || s.once.Fresh(i.Key()) { // pages overlap
		s.count++
	}
	if open && !h.kind.Stream && len(s.tail) < longestTail {
		s.tail = append(s.tail, digest)
	}
}

func digestOf(i items.Item) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], xxhash.Sum64String(i.Kind+"\x00"+i.Scope+"\x00"+i.ID))
	return hex.EncodeToString(b[:])
}
