package adopt

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"srpump/partition"
	"srpump/post"
	"srpump/pump/config"
	"srpump/winnow"
)

// takeCache offers what v02 remembers to our cache, oldest first, at the time
// v02 saw it.
func (i Item) takeCache(log *slog.Logger, now time.Time) (err error) {
	ttl := i.cfg.Values.Duration("suppress_duplicates")
	if ttl <= 0 {
		return nil
	}
	list, err := readCache(i.Path, log)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(a *post.Announcement) bool { return now.Sub(a.Time.Time()) >= ttl })
	slices.SortStableFunc(list, func(a, b *post.Announcement) int { return a.Time.Time().Compare(b.Time.Time()) })
	if len(list) == 0 {
		return nil
	}
	var clock atomic.Pointer[time.Time] // the cache asks from goroutines of its own
	mode := winnow.One
	if i.cfg.Preset == config.Winnow {
		mode = winnow.Many
	}
	basis := map[string]winnow.Basis{"name": winnow.Name, "data": winnow.Data}[i.cfg.Values.String("suppress_duplicates_basis")]
	first := list[0].Time.Time()
	clock.Store(&first)
	c, err := winnow.Open(winnow.Options{Mode: mode, Basis: basis, TTL: ttl, Logger: log,
		Dir: filepath.Join(i.cfg.State().Dir(), "winnow"), Now: func() time.Time { return *clock.Load() }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for _, a := range list {
		seen := a.Time.Time()
		clock.Store(&seen)
		if v, t := c.Offer(a); v == winnow.Fresh {
			if err := c.Commit(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// readCache reads lines of sum, time, path and parts, separated by blanks.
func readCache(path string, log *slog.Logger) (list []*post.Announcement, err error) {
	err = lines(path, func(number int, line []byte) {
		a, err := readSight(string(line))
		if err != nil {
			log.Warn("line not adopted", "file", path, "line", number, "error", err)
			return
		}
		list = append(list, a)
	})
	return list, err
}

// readSight reads a line of the Python tools, which escape paths as in a URL, or of the C tools, which
// do not: theirs may hold blanks.
func readSight(line string) (*post.Announcement, error) {
	sum, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	stamp, rest, _ := strings.Cut(rest, " ")
	end := strings.LastIndexByte(rest, ' ')
	if end <= 0 {
		return nil, fmt.Errorf("%d words instead of 4", len(strings.Fields(line)))
	}
	path, parts := rest[:end], rest[end+1:]
	a := &post.Announcement{Path: path}
	if !isStamp(stamp) {
		if strings.ContainsRune(path, ' ') {
			return nil, fmt.Errorf("%d words instead of 4", len(strings.Fields(line)))
		}
		if p, err := url.PathUnescape(path); err == nil {
			a.Path = p
		}
	}
	seen, err := seenAt(stamp)
	if err != nil {
		return nil, err
	}
	a.Time = post.At(seen)
	if a.Sum, err = post.ParseSum(sum); err != nil {
		return nil, err
	}
	if !strings.Contains(parts, ",") {
		return a, nil // links and removals have no parts
	}
	a.Block, err = partition.Parse(parts)
	return a, err
}

// isStamp tells the date stamps of the C tools from the seconds of the Python tools.
func isStamp(s string) bool {
	whole, _, _ := strings.Cut(s, ".")
	return len(whole) == len("20060102150405")
}

// seenAt reads seconds since 1970 as the Python tools write them, and the date
// stamps of the C tools.
func seenAt(s string) (time.Time, error) {
	if isStamp(s) {
		t, err := post.ParseTimestamp(s)
		return t.Time(), err
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 || f > math.MaxInt32*4.0 {
		return time.Time{}, fmt.Errorf("bad time %.40q", s)
	}
	return time.UnixMicro(int64(math.Round(f * 1e6))), nil
}

// maxLine is the longest line read; a file with a longer one is none of v02.
const maxLine = 1 << 20

// lines calls fn for each line that is not empty, numbered from 1. A file that
// is gone holds none.
func lines(path string, fn func(number int, line []byte)) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, maxLine)
	for n := 1; s.Scan(); n++ {
		if len(bytes.TrimSpace(s.Bytes())) > 0 {
			fn(n, s.Bytes())
		}
	}
	return s.Err()
}
