package winnow

import (
	"fmt"
	"os"
	"time"
)

// syncEvery is what a power cut may forget.
const syncEvery = time.Second

// keep syncs the log and sweeps until the cache is closed.
func (c *Cache) keep() {
	defer c.idle.Done()
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	every := max(c.opts.TTL/16, syncEvery)
	for next := every; ; next -= syncEvery {
		select {
		case <-c.stop:
			return
		case <-tick.C:
		}
		if c.log != nil {
			c.complain(c.log.sync())
		}
		if next <= 0 {
			c.complain(c.Sweep())
			next = every
		}
	}
}

func (c *Cache) complain(err error) {
	if err != nil {
		c.opts.Logger.Error("cannot keep cache", "dir", c.opts.Dir, "error", err)
	}
}

// Sweep drops what expired, from memory and disk; the cache does so by itself every
// sixteenth of the time to live. Others wait a few milliseconds at most meanwhile.
func (c *Cache) Sweep() error {
	c.sweeping.Lock()
	defer c.sweeping.Unlock()
	limit := c.clock.now() - int64(c.opts.TTL) + 1
	for i := range c.marks.shards {
		c.mu.Lock()
		if !c.closed {
			c.stats.Expired += uint64(c.marks.sweep(i, limit))
			c.seen.sweep(i, limit)
		}
		c.mu.Unlock()
	}
	if c.log == nil {
		return nil
	}
	if err := c.log.drop(limit); err != nil {
		return err
	}
	return c.compact()
}

// compact rewrites the log when less than a quarter of it is still true, as with files
// that change all the time: everything known takes the place of the closed segments. A crash
// on the way leaves records twice, which apply does not mind.
func (c *Cache) compact() error {
	closed := c.log.worthRewriting(c.size())
	if len(closed) == 0 {
		return nil
	}
	last := closed[len(closed)-1]
	s, err := c.rewrite(last.number)
	if err != nil {
		return fmt.Errorf("cannot rewrite %q: %w", c.log.name(last.number), err)
	}
	return c.log.replace(len(closed), s)
}

func (c *Cache) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.marks.n + c.seen.n
}

// worthRewriting closes the current segment and returns all closed ones when the log holds four
// times what is known.
func (l *segments) worthRewriting(known int) []segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	records := 0
	if l.file != nil {
		records = l.cur.records
	}
	for _, s := range l.old {
		records += s.records
	}
	if records < 4*known+100_000 || l.retire() != nil {
		return nil
	}
	return l.old
}

// rewrite writes all marks to a segment of this number, through a temporary file.
func (c *Cache) rewrite(number int) (segment, error) {
	s := segment{number: number, size: segmentHeader, begun: c.clock.now()}
	name := c.log.name(number)
	f, err := os.OpenFile(name+".tmp", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return s, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.Write(c.log.header); err != nil {
		return s, err
	}
	for i := range c.marks.shards {
		recs := c.snapshot(i)
		b := appendFrames(nil, recs)
		if _, err := f.Write(b); err != nil {
			return s, err
		}
		s.note(recs, int64(len(b)))
	}
	if err := f.Sync(); err != nil {
		return s, err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return s, err
	}
	return s, syncDir(c.log.dir)
}

// snapshot is what shard i of both tables holds, as records of the log.
func (c *Cache) snapshot(i int) []mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	recs := make([]mark, 0, c.marks.shards[i].n+c.seen.shards[i].n)
	for _, m := range c.marks.shards[i].recs {
		if m.first != 0 {
			recs = append(recs, m)
		}
	}
	for _, m := range c.seen.shards[i].recs {
		if m.first != 0 {
			recs = append(recs, mark{slot: m.slot, key: seenKey, time: m.time, first: m.first})
		}
	}
	return recs
}

// replace lets s stand for the n oldest segments, the last of which it has overwritten.
func (l *segments) replace(n int, s segment) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, old := range l.old[:n-1] {
		if err := os.Remove(l.name(old.number)); err != nil {
			return err
		}
	}
	l.old = append([]segment{s}, l.old[n:]...)
	return nil
}
