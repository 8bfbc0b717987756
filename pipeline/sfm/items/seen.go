package items

import "crypto/sha256"

// A Key stands for an item: it is a digest of its kind, its scope and its id.
type Key [16]byte

// Key is what an item is known by; two items of one key are the same one, met twice.
func (i Item) Key() Key {
	sum := sha256.Sum256([]byte(i.Kind + "\x00" + i.Scope + "\x00" + i.ID))
	return Key(sum[:])
}

// Seen are the items met so far. It holds sixteen bytes for each, and no text.
type Seen struct{ met map[Key]struct{} }

// Fresh tells whether an item is met for the first time.
func (s *Seen) Fresh(k Key) bool {
	if s.met == nil {
		s.met = map[Key]struct{}{}
	}
	if _, ok := s.met[k]; ok {
		return false
	}
	s.met[k] = struct{}{}
	return true
}
