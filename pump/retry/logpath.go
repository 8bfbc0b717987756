package retry

import (
	"encoding/base64"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"srpump/post"
)

// LogWords are the words of v02 about m, the announcement of path, that FromLog reads:
// "<ts> <srcpath> <relpath> headers={...}". Where a log cannot show the path as it is, a header says
// which it is, as on the wire for paths the first line cannot carry.
func LogWords(m post.Message, path string) string {
	notice, headers := strings.TrimRight(string(m.Body), " \n"), m.Headers
	printable := notice
	if printableASCII(notice) < len(notice) {
		printable = string(AppendPrintable(nil, notice))
	}
	if printable != notice && headers[post.HeaderExactPath] == nil {
		headers = maps.Clone(headers)
		headers[post.HeaderExactPath] = base64.StdEncoding.EncodeToString([]byte(path))
	}
	return printable + " headers=" + PythonDict(headers)
}

// AppendPrintable appends text to b, with what would end the line of a log, or move on a terminal, as
// escapes of Go.
func AppendPrintable(b []byte, text string) []byte {
	n := printableASCII(text)
	b, text = append(b, text[:n]...), text[n:]
	for i, r := range text {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(text[i:])
		}
		if size > 1 && r != utf8.RuneError && strconv.IsPrint(r) || size == 1 && r >= ' ' && r < 0x7f {
			b = append(b, text[i:i+size]...)
			continue
		}
		quoted := strconv.AppendQuote(nil, text[i:i+size])
		b = append(b, quoted[1:len(quoted)-1]...)
	}
	return b
}

// printableASCII is the length of what text begins with that a log shows as it is: mostly all of it.
func printableASCII(text string) (n int) {
	for n < len(text) && text[n] >= ' ' && text[n] < 0x7f {
		n++
	}
	return n
}

// unprinted is the relpath of a notice in a log. Where escapes stand for what the log could not show,
// the header says the path they are of; one that says another is left to whoever decodes the message.
func unprinted(field string, headers map[string]any) string {
	value, _ := headers[post.HeaderExactPath].(string)
	raw, err := base64.StdEncoding.DecodeString(value)
	if value == "" || err != nil {
		return field
	}
	a := post.Announcement{Path: string(raw)}
	if wire := a.Text(); string(AppendPrintable(nil, wire)) == field {
		return wire
	}
	return field
}
