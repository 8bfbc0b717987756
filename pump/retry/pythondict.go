package retry

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// PythonDict writes headers as Python prints a dictionary, names in order: the form they have behind
// headers= in the log lines of v02, which FromLog reads. Nothing in it can end a line. What is
// neither text, number, truth nor nil becomes text.
func PythonDict(headers map[string]any) string {
	var b strings.Builder
	b.Grow(64 * len(headers))
	b.WriteByte('{')
	for i, k := range slices.Sorted(maps.Keys(headers)) {
		if i > 0 {
			b.WriteString(", ")
		}
		pythonQuote(&b, k)
		b.WriteString(": ")
		pythonValue(&b, headers[k])
	}
	b.WriteByte('}')
	return b.String()
}

func pythonValue(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case int, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64:
		fmt.Fprint(b, v)
	case string:
		pythonQuote(b, v)
	case []byte:
		pythonQuote(b, string(v))
	default:
		pythonQuote(b, fmt.Sprint(v))
	}
}

// pythonQuote takes the quotes Python takes: single ones, unless only those are in the text.
func pythonQuote(b *strings.Builder, s string) {
	if printableASCII(s) == len(s) && !strings.ContainsAny(s, `'\`) {
		b.WriteByte('\'')
		b.WriteString(s)
		b.WriteByte('\'')
		return
	}
	quote := '\''
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		quote = '"'
	}
	b.WriteRune(quote)
	for _, r := range strings.ToValidUTF8(s, string(utf8.RuneError)) {
		switch {
		case r == quote || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			escaped := strconv.QuoteRune(r)
			b.WriteString(escaped[1 : len(escaped)-1])
		}
	}
	b.WriteRune(quote)
}
