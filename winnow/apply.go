package winnow

// While a file is announced in blocks, the mark of its path has a key of a kind of its own:
// blockMagic and how the file is cut, then since when. Marks of single blocks from before
// then are void: the file was removed, or was another one, in between.
const blockMagic = 0x626c6f63 // "bloc"

func blocksKey(layout uint32, since int64) digest {
	return digest{blockMagic<<32 | uint64(layout), uint64(since)}
}

func isBlocks(key digest) bool { return key[0]>>32 == blockMagic }

// seenKey is the key of a record whose slot is a key to be remembered.
var seenKey = digest{(blockMagic + 1) << 32, 0}

// keyed reports whether a key is that of announcements.
func keyed(key digest) bool { return key != (digest{}) && !isBlocks(key) }

// current is the last thing committed of the slot of s. Its key is zero when what there was is gone.
func (c *Cache) current(s *sight, now int64) (m mark, known bool) {
	whole := c.marks.find(s.whole)
	if !c.live(whole, now) {
		whole = nil
	}
	if s.layout == 0 || whole != nil && whole.key[0] != blocksKey(s.layout, 0)[0] {
		if whole == nil {
			return mark{}, false
		}
		return *whole, true
	}
	block := c.marks.find(s.slot)
	if !c.live(block, now) {
		return mark{}, false
	}
	m = *block
	if whole != nil && m.first < int64(whole.key[1]) {
		m.key = digest{} // void: only its late copies are known
	}
	return m, true
}

// appendMarks writes what committing s, first seen at first, leaves. A path of which nothing
// is known needs no mark that says it changed.
func (c *Cache) appendMarks(recs []mark, s *sight, first int64) []mark {
	if s.old != (digest{}) && s.old != s.whole && c.marks.find(s.old) != nil {
		recs = append(recs, mark{slot: s.old, time: s.time, first: first})
	}
	if s.key == (digest{}) {
		if c.marks.find(s.slot) != nil {
			recs = append(recs, mark{slot: s.slot, time: s.time, first: first})
		}
		return recs
	}
	if s.layout != 0 {
		recs = append(recs, mark{slot: s.whole, key: blocksKey(s.layout, first), time: s.time, first: first})
	}
	return append(recs, mark{slot: s.slot, key: s.key, time: s.time, first: first})
}

// apply brings a committed record into the tables; doing so again changes nothing, so that
// a log may hold a record twice. With many sources the time announced decides what is
// the last thing known of a slot, with one source the order of commits.
func (c *Cache) apply(r mark, now int64) {
	if r.key == seenKey {
		c.remember(mark{key: r.slot, time: r.time, first: r.first})
		return
	}
	if c.opts.Basis != Path && keyed(r.key) {
		c.remember(r)
	}
	m := c.marks.find(r.slot)
	if !c.live(m, now) {
		c.marks.put(r)
		return
	}
	if m.key == r.key || isBlocks(r.key) && m.key[0] == r.key[0] {
		m.time, m.first = max(m.time, r.time), max(m.first, r.first)
		return
	}
	if c.opts.Mode == Many {
		if r.time < m.time {
			c.remember(r)
			return
		}
		c.remember(*m)
	}
	*m = r
}

// remember keeps the key of a mark that is not, or no longer, the last of its slot.
func (c *Cache) remember(m mark) {
	if !keyed(m.key) {
		return
	}
	if s := c.seen.find(m.key); s != nil {
		s.first = max(s.first, m.first)
		return
	}
	c.seen.put(mark{slot: m.key, time: m.time, first: m.first})
}
