package news

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// unreserved are the characters, besides letters and digits, that are never escaped.
const unreserved = "_.-~"

// quote escapes all bytes but letters, digits, unreserved ones and those that are safe, as
// urllib.parse.quote does.
func quote(s, safe string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if isAlnum(c) || strings.IndexByte(unreserved, c) >= 0 || strings.IndexByte(safe, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	return b.String()
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// unquote undoes escapes, as urllib.parse.unquote does: what is no escape stays, and bytes that
// are no UTF-8 become U+FFFD.
func unquote(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] < utf8.RuneSelf {
			j++
		}
		b.WriteString(toValid(unescape(s[i:j])))
		for i = j; i < len(s) && s[i] >= utf8.RuneSelf; i++ {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			b.WriteByte(unhex(s[i+1])<<4 | unhex(s[i+2]))
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// toValid puts one U+FFFD in place of each sequence that begins a character and does not end
// it, and of each byte that cannot begin one (Unicode 15, 3.9, U+FFFD substitution).
func toValid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			n = begun(s)
		}
		b.WriteRune(r)
		s = s[n:]
	}
	return b.String()
}

// begun is how many bytes at the start of s could go on to be a character; at least 1.
func begun(s string) int {
	lo, hi, need := byte(0x80), byte(0xbf), 0
	switch c := s[0]; {
	case c >= 0xc2 && c <= 0xdf:
		need = 2
	case c >= 0xe0 && c <= 0xef:
		need = 3
		if c == 0xe0 {
			lo = 0xa0
		} else if c == 0xed {
			hi = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		need = 4
		if c == 0xf0 {
			lo = 0x90
		} else if c == 0xf4 {
			hi = 0x8f
		}
	}
	n := 1
	for n < need && n < len(s) && s[n] >= lo && s[n] <= hi {
		lo, hi = 0x80, 0xbf
		n++
	}
	return n
}

// wellQuoted tells whether s has only word characters, those of safe, and escapes.
func wellQuoted(s, safe string) bool {
	for i, r := range s {
		switch {
		case r == '_', unicode.IsLetter(r), unicode.IsNumber(r):
		case r == '%':
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return false
			}
		case r >= utf8.RuneSelf || strings.IndexByte(safe, byte(r)) < 0:
			return false
		}
	}
	return true
}
