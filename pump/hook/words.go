package hook

import (
	"errors"
	"strings"
)

// splitWords cuts a command into words as a shell does, and does no more of what a shell does: words
// are apart by blanks; '…' keeps all as it is, "…" all but \" and \\; outside of both a \ keeps the next
// character. What is in quotes stays part of the word around it.
func splitWords(s string) (words []string, err error) {
	var word strings.Builder
	open, quote := false, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == '\'':
			word.WriteByte(c)
		case c == '\\' && i+1 < len(s) && (quote == 0 || s[i+1] == '"' || s[i+1] == '\\'):
			i++
			word.WriteByte(s[i])
			open = true
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, open = c, true
		case c == ' ' || c == '\t':
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		default:
			word.WriteByte(c)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	switch {
	case quote != 0:
		return nil, errors.New("a quote is not closed")
	case len(words) == 0:
		return nil, errors.New("no command is named")
	}
	return words, nil
}
