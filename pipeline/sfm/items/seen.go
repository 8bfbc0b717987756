package items

import "crypto/sha256"

// Seen are the items met so far. It holds sixteen bytes of a digest for each, and no text.
type Seen struct{ met map[[16]byte]struct{} }

// Fresh tells whether an item is met for the first time: one of its kind, scope and id.
func (s *Seen) Fresh(i Item) bool {
	if s.met == nil {
		s.met = map[[16]byte]struct{}{}
	}
	sum := sha256.Sum256([]byte(i.Kind + "\x00" + i.Scope + "\x00" + i.ID))
	key := [16]byte(sum[:])
	if _, ok := s.met[key]; ok {
		return false
	}
	s.met[key] = struct{}{}
	return true
}
