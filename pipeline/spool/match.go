package spool

import "strings"

// wants tells whether a key is among those the subtopic lines ask for.
func (s *settings) wants(key string) bool {
	for _, pattern := range s.keys {
		if matches(strings.Split(pattern, "."), strings.Split(key, ".")) {
			return true
		}
	}
	return len(s.keys) == 0
}

// matches is how an exchange reads a binding: * is one word, # any number of them. Only the last # is
// returned to, which keeps it quadratic at worst.
func matches(pattern, key []string) bool {
	p, k, hash, from := 0, 0, -1, 0
	for k < len(key) || p < len(pattern) {
		switch {
		case p < len(pattern) && pattern[p] == "#":
			hash, from = p, k
			p++
		case p < len(pattern) && k < len(key) && (pattern[p] == "*" || pattern[p] == key[k]):
			p, k = p+1, k+1
		case hash >= 0 && from < len(key):
			from++
			p, k = hash+1, from
		default:
			return false
		}
	}
	return true
}
