package winnow

// sums remembers the path of recent checksums, each in the one place its bits give it: what
// comes later takes the place. Enough for a hint.
type sums [2048]struct {
	bytes uint64
	path  uint64
}

// other reports whether the same bytes were last seen under another path.
func (s *sums) other(bytes uint64, path digest) bool {
	e := &s[bytes>>53]
	found := e.bytes == bytes && e.path != path[0]
	e.bytes, e.path = bytes, path[0]
	return found
}
