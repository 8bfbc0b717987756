package sqlite

import "strings"

// A words is a topic, read word by word. The empty topic has no words, "a."
// has two, as in RabbitMQ.
type words struct {
	rest string
	more bool
}

func wordsOf(topic string) words { return words{topic, topic != ""} }

// next is the first word and what follows it.
func (w words) next() (string, words) {
	word, rest, more := strings.Cut(w.rest, ".")
	return word, words{rest, more}
}

// matches tells whether a key fits a binding's pattern: * stands for exactly
// one word, # for any number of them, none included (AMQP 0-9-1, 3.1.3.3).
// Only the last # seen is ever returned to, which keeps it quadratic at worst.
func matches(pattern, key string) bool {
	p, k := wordsOf(pattern), wordsOf(key)
	var hash, from words
	seen := false
	for k.more || p.more {
		if p.more {
			want, after := p.next()
			if want == "#" {
				hash, from, seen = after, k, true
				p = after
				continue
			}
			if k.more {
				if got, rest := k.next(); want == "*" || want == got {
					p, k = after, rest
					continue
				}
			}
		}
		if !seen || !from.more {
			return false
		}
		_, from = from.next()
		p, k = hash, from
	}
	return true
}
