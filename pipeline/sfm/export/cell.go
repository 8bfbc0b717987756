package export

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/valyala/fastjson"
)

// A cell is one value of a row.
type cell struct {
	sort sort
	text string // a number has its own digits
}

type sort uint8

const (
	nothing sort = iota
	text
	number
	truth
)

func textCell(s string) cell {
	if s == "" {
		return cell{}
	}
	return cell{text, s}
}

// cellOf is a JSON value; an array or object is its text.
func cellOf(v *fastjson.Value) cell {
	if v == nil {
		return cell{}
	}
	switch v.Type() {
	case fastjson.TypeNull:
		return cell{}
	case fastjson.TypeString:
		return cell{text, string(v.GetStringBytes())}
	case fastjson.TypeNumber:
		return cell{number, string(v.MarshalTo(nil))}
	case fastjson.TypeTrue:
		return cell{truth, "true"}
	case fastjson.TypeFalse:
		return cell{truth, "false"}
	}
	return cell{text, string(v.MarshalTo(nil))}
}

// clean replaces what no table can hold: control characters but tab and line ends, and bytes that
// are not UTF-8.
func clean(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= utf8.RuneSelf {
			return strings.Map(func(c rune) rune {
				if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == '\uFFFE' || c == '\uFFFF' {
					return utf8.RuneError
				}
				return c
			}, s)
		}
	}
	return s
}

// guarded is a text that no spreadsheet takes for a formula: an apostrophe stands before what
// would be one. What begins a formula is as OWASP has it in "CSV Injection", also in full width
// and behind blanks, which some programs drop.
func guarded(s string) string {
	bare := strings.TrimLeftFunc(s, unicode.IsSpace)
	if bare == "" {
		return s
	}
	switch first, _ := utf8.DecodeRuneInString(bare); first {
	case '=', '@', '＝', '＋', '－', '＠', '|', '%':
	case '+', '-':
		if isNumber(bare) {
			return s
		}
	default:
		if s[0] != '\t' && s[0] != '\r' && s[0] != '\n' {
			return s
		}
	}
	return "'" + s
}

// isNumber tells a plain number with a sign.
func isNumber(s string) bool {
	whole, part, _ := strings.Cut(s[1:], ".")
	digits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	return whole != "" && digits(whole) && digits(part)
}
