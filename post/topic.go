package post

import (
	"strings"
	"unicode/utf8"
)

// MaxTopic is the length in bytes beyond which a topic is cut: an AMQP short
// string has 255, of which living peers use 253.
const MaxTopic = 253

// DefaultPrefix begins the topic of every v02 announcement (sr_post(7), AMQP TOPIC).
const DefaultPrefix = "v02.post"

// DefaultPrefixV03 begins the topic of announcements of version v03 (sr_post(7), VERSION 3).
const DefaultPrefixV03 = "v03.post"

// MakeTopic is the topic for the file at the slash-separated path: the prefix,
// its directories and, with name, the file's own name, joined by dots (sr_post(7), AMQP
// TOPIC). Empty words vanish; blank, # and control characters are escaped; what is
// too long is cut between two characters.
func MakeTopic(prefix, path string, name bool) string {
	path = strings.Trim(path, "/")
	if !name {
		i := strings.LastIndexByte(path, '/')
		path = path[:max(i, 0)]
	}
	return cleanTopic(prefix + "." + strings.ReplaceAll(path, "/", "."))
}

// cleanTopic drops empty words, escapes and cuts.
func cleanTopic(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	dot := true // a leading dot is an empty word
	for _, r := range s {
		if r == '.' {
			if !dot {
				b.WriteByte('.')
			}
			dot = true
			continue
		}
		dot = false
		writeEscaped(&b, r)
	}
	out := strings.TrimSuffix(b.String(), ".")
	if len(out) <= MaxTopic {
		return out
	}
	cut := MaxTopic
	for cut > 0 && !utf8.RuneStart(out[cut]) {
		cut--
	}
	return out[:cut]
}

// Reprefix replaces the prefix old of a topic by another one, at whole words. A topic
// that does not begin with old is returned as it is.
func Reprefix(topic, old, prefix string) string {
	rest, ok := strings.CutPrefix(topic, old)
	if !ok || old == prefix || (rest != "" && rest[0] != '.') {
		return topic
	}
	return cleanTopic(prefix + rest)
}
