package sfm

import "strings"

// Exchange is where all messages go: a durable topic exchange.
const Exchange = "sfm_exchange"

// The routing keys that are always the same.
const (
	CreatedKey  = "warc_created"
	WebStartKey = "harvest.start.web"
)

// The second words of routing keys.
const (
	VerbStart  = "start"
	VerbStop   = "stop"
	VerbStatus = "status"
)

// A Key is a routing key taken apart: harvest or export, what of it, of which platform and type.
// The suffix priority picks the queue of requests that are not to wait behind others.
type Key struct {
	Kind     string // "harvest" or "export"
	Verb     string // VerbStart, VerbStop or VerbStatus
	Platform string // "" in "harvest.start.web"
	Type     string
	Priority bool
}

// ParseKey takes a routing key apart; false when it is none of these.
func ParseKey(key string) (Key, bool) {
	words := strings.Split(key, ".")
	k := Key{}
	if len(words) == 5 && words[4] == "priority" {
		k.Priority, words = true, words[:4]
	}
	switch len(words) {
	case 3:
		k.Type = words[2]
	case 4:
		k.Platform, k.Type = words[2], words[3]
	default:
		return Key{}, false
	}
	k.Kind, k.Verb = words[0], words[1]
	ok := (k.Kind == "harvest" || k.Kind == "export") && (k.Verb == VerbStart || k.Verb == VerbStop || k.Verb == VerbStatus) && k.Type != ""
	return k, ok
}

// String is the routing key.
func (k Key) String() string {
	words := []string{k.Kind, k.Verb}
	if k.Platform != "" {
		words = append(words, k.Platform)
	}
	words = append(words, k.Type)
	if k.Priority {
		words = append(words, "priority")
	}
	return strings.Join(words, ".")
}

// StatusKey is the routing key of the statuses of what was started under a key: its second word
// is another, and nothing else, so that the suffix priority stays.
func StatusKey(startKey string) string {
	first, rest, found := strings.Cut(startKey, ".")
	if !found {
		return startKey
	}
	_, rest, found = strings.Cut(rest, ".")
	if !found {
		return first + "." + VerbStatus
	}
	return first + "." + VerbStatus + "." + rest
}
