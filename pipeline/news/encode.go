package news

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Member is a member of a JSON object that is not known.
type Member struct {
	Name  string
	Value json.RawMessage
}

// JSON is the metadata of a story as story-indexer writes it (json.dumps with indent=2): ASCII
// alone, members in the order of the fields, every null written, no line end at the end.
func (s *Story) JSON() []byte {
	b := make([]byte, 0, 4096)
	sep := "{\n  "
	for _, sec := range s.sections() {
		b = append(appendString(append(b, sep...), sec.name), ": "...)
		b = appendSection(b, sec)
		sep = ",\n  "
	}
	for _, m := range s.Extra {
		b = append(appendString(append(b, sep...), m.Name), ": "...)
		b = appendRaw(b, m.Value, 1)
	}
	return append(b, "\n}"...)
}

func appendSection(b []byte, sec section) []byte {
	sep := "{\n    "
	for _, f := range sec.fields {
		b = append(appendString(append(b, sep...), f.name), ": "...)
		b = appendField(b, f.at)
		sep = ",\n    "
	}
	for _, m := range *sec.extra {
		b = append(appendString(append(b, sep...), m.Name), ": "...)
		b = appendRaw(b, m.Value, 2)
	}
	return append(b, "\n  }"...)
}

func appendField(b []byte, at any) []byte {
	switch v := at.(type) {
	case **string:
		if *v != nil {
			return appendString(b, **v)
		}
	case **int64:
		if *v != nil {
			return strconv.AppendInt(b, **v, 10)
		}
	case **float64:
		if *v != nil && !math.IsNaN(**v) && !math.IsInf(**v, 0) {
			return appendFloat(b, **v)
		}
	case **bool:
		if *v != nil {
			return strconv.AppendBool(b, **v)
		}
	}
	return append(b, "null"...)
}

// appendFloat writes the shortest form that reads the same, as repr does.
func appendFloat(b []byte, v float64) []byte {
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	n := len(b)
	b = strconv.AppendFloat(b, v, 'f', -1, 64)
	if !strings.Contains(string(b[n:]), ".") {
		b = append(b, ".0"...)
	}
	return b
}

// appendString writes a string in ASCII. Bytes that are no UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		b = appendEscape(append(b, s[start:i]...), r)
		i += n
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

func appendEscape(b []byte, r rune) []byte {
	const short = "\"\"\\\\\bb\ff\nn\rr\tt"
	if r < utf8.RuneSelf {
		for i := 0; i < len(short); i += 2 {
			if short[i] == byte(r) {
				return append(b, '\\', short[i+1])
			}
		}
	}
	if r >= 0x10000 {
		r -= 0x10000
		return appendUnit(appendUnit(b, 0xd800+r>>10), 0xdc00+r&0x3ff)
	}
	return appendUnit(b, r)
}

func appendUnit(b []byte, u rune) []byte {
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', digits[u>>12&15], digits[u>>8&15], digits[u>>4&15], digits[u&15])
}

// appendRaw writes a value that was read, in the form of all others.
func appendRaw(b []byte, raw json.RawMessage, depth int) []byte {
	switch raw[0] {
	case '{':
		members, _ := readObject(raw) // it was read before
		return appendList(b, '{', '}', depth, len(members), func(b []byte, i int) []byte {
			return appendRaw(append(appendString(b, members[i].Name), ": "...), members[i].Value, depth+1)
		})
	case '[':
		var all []json.RawMessage
		_ = json.Unmarshal(raw, &all) // it was read before
		return appendList(b, '[', ']', depth, len(all), func(b []byte, i int) []byte { return appendRaw(b, all[i], depth+1) })
	case '"':
		var s string
		_ = json.Unmarshal(raw, &s) // it was read before
		return appendString(b, s)
	}
	return append(b, raw...)
}

func appendList(b []byte, open, end byte, depth, n int, element func([]byte, int) []byte) []byte {
	b = append(b, open)
	if n == 0 {
		return append(b, end)
	}
	indent := "\n" + strings.Repeat("  ", depth)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = element(append(b, indent+"  "...), i)
	}
	return append(append(b, indent...), end)
}
