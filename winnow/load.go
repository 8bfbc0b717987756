package winnow

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"os"

	"github.com/cespare/xxhash/v2"
)

// load opens the log and brings its records into the tables.
func (c *Cache) load() (err error) {
	if c.log, err = openSegments(c.opts.Dir, c.opts); err != nil {
		return err
	}
	if err = c.loadAll(); err != nil {
		c.log.lock.Close()
	}
	return err
}

func (c *Cache) loadAll() error {
	numbers, err := c.log.numbers()
	if err != nil {
		return err
	}
	c.reserve(numbers)
	for _, n := range numbers {
		s, err := c.loadSegment(n)
		if err != nil {
			return fmt.Errorf("cannot read %q: %w", c.log.name(n), err)
		}
		c.log.old = append(c.log.old, s)
		c.log.cur.number = n
	}
	return c.log.reopen(c.clock.now())
}

// reserve saves growing the table step by step; what is left of old segments by then counts little.
func (c *Cache) reserve(numbers []int) {
	var bytes int64
	for _, n := range numbers {
		if fi, err := os.Stat(c.log.name(n)); err == nil {
			bytes += fi.Size()
		}
	}
	if records := int(bytes) / markSize; records > 100_000 {
		c.marks.reserve(records)
	}
}

// loadSegment reads one segment. What is damaged is reported and left out.
func (c *Cache) loadSegment(n int) (segment, error) {
	s := segment{number: n, begun: math.MaxInt64}
	b, free, err := readFile(c.log.name(n))
	if err != nil {
		return s, err
	}
	defer free()
	ours, err := c.checkHeader(n, b)
	if err != nil || !ours {
		return s, err
	}
	var shards [256][]int // offsets of records
	read := readFrames(b, min(segmentHeader, len(b)), func(at int) {
		i := shardOf(readMark(b[at:]).slot)
		shards[i] = append(shards[i], at)
	})
	for _, records := range shards {
		c.replay(b, records, &s)
	}
	c.report(n, len(b), read)
	s.size = int64(read.end)
	return s, nil
}

// replay applies the records of one shard: the order of those of one slot is kept, and the
// table's memory stays at hand.
func (c *Cache) replay(b []byte, records []int, s *segment) {
	now := c.clock.now()
	for _, at := range records {
		m := readMark(b[at:])
		m.first = min(m.first, now) // a clock set back since must not keep it longer
		s.note([]mark{m}, 0)
		if m.first > 0 && c.live(&m, now) {
			c.apply(m, now)
		}
	}
}

func (c *Cache) report(n, size int, read scan) {
	log := c.opts.Logger.With("file", c.log.name(n))
	if read.damaged > 0 {
		c.stats.Damaged += read.damaged
		log.Warn("damaged cache", "frames", read.damaged)
	}
	if read.end < size {
		log.Warn("torn cache", "bytes", size-read.end, "offset", read.end)
	}
}

// checkHeader reports whether a segment was written with our mode and basis; the marks of others
// mean nothing here. A header that is damaged says nothing, and the frames are tried.
func (c *Cache) checkHeader(n int, b []byte) (ours bool, err error) {
	if len(b) < segmentHeader {
		return true, nil // cut off while it was made
	}
	if string(b[:8]) != segmentMagic || binary.LittleEndian.Uint64(b[24:]) != xxhash.Sum64(b[:24]) {
		c.opts.Logger.Warn("damaged cache", "file", c.log.name(n), "header", true)
		c.stats.Damaged++
		return true, nil
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v > segmentVersion {
		return false, fmt.Errorf("format %d: %w", v, ErrNewer)
	}
	if b[12] != byte(c.opts.Mode) || b[13] != byte(c.opts.Basis) {
		c.opts.Logger.Warn("cache of another mode or basis", slog.String("file", c.log.name(n)))
		return false, nil
	}
	return true, nil
}

// reopen goes on with the last segment after cutting off what is torn, when it is whole enough.
func (l *segments) reopen(now int64) error {
	if len(l.old) == 0 {
		return nil
	}
	last := l.old[len(l.old)-1]
	if last.size <= segmentHeader || last.size > segmentMax || now-last.begun > l.ttl/8 {
		return nil
	}
	f, err := os.OpenFile(l.name(last.number), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if err := f.Truncate(last.size); err != nil {
		f.Close()
		return err
	}
	l.file, l.cur, l.old = f, last, l.old[:len(l.old)-1]
	return nil
}
