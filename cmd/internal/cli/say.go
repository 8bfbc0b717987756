package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"srpump/pump/broker"
	"srpump/pump/config"
)

// A say is how a command speaks to the person who started it: an error, a
// warning or a hint, each a line of its own on standard error, in lower case and without
// a final period. These are the only doors.
type say struct {
	program string
	w       io.Writer
}

func (s say) errorf(format string, args ...any)   { s.line("", format, args) }
func (s say) warningf(format string, args ...any) { s.line("warning: ", format, args) }

// hint says what to do; nothing is printed without one.
func (s say) hint(text string) {
	if text != "" {
		s.line("hint: ", "%s", []any{text})
	}
}

// fail prints an error with its hint.
func (s say) fail(err error) {
	s.errorf("%v", err)
	s.hint(broker.Hint(err))
}

// line keeps what is said on one line: control characters could forge another.
func (s say) line(kind, format string, args []any) {
	fmt.Fprintf(s.w, "%s: %s%s\n", s.program, kind, config.RedactText(oneLine(fmt.Sprintf(format, args...))))
}

func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ReplaceAll(text, "\n", "; "))
}
