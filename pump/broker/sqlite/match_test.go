package sqlite

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// naive is the definition of a topic pattern, word by word.
func naive(pattern, key []string) bool {
	switch {
	case len(pattern) == 0:
		return len(key) == 0
	case pattern[0] == "#":
		return naive(pattern[1:], key) || len(key) > 0 && naive(pattern, key[1:])
	case len(key) == 0:
		return false
	}
	return (pattern[0] == "*" || pattern[0] == key[0]) && naive(pattern[1:], key[1:])
}

func split(topic string) []string {
	if topic == "" {
		return nil
	}
	return strings.Split(topic, ".")
}

func TestMatchesAsDefined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"#", "*", "a", "b", ""}), 0, 6).Draw(t, "pattern"), ".")
		key := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "", "ab"}), 0, 7).Draw(t, "key"), ".")
		if got, want := matches(pattern, key), naive(split(pattern), split(key)); got != want {
			t.Fatalf("pattern %q key %q: %v, want %v", pattern, key, got, want)
		}
	})
}

func BenchmarkMatches(b *testing.B) {
	for b.Loop() {
		matches("v02.post.#.data.*", "v02.post.some.where.of.usual.length.data.file_txt")
	}
}
