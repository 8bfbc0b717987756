package warc

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A head is the version and the fields of a record, and what is odd about how they are written.
type head struct {
	version string
	fields  Fields
	size    int64 // Content-Length
	odd     []string
}

// parseHead reads a head, from the version to the empty line. It is an error only when the
// length of the block cannot be told.
func parseHead(text string, maxFields int) (h head, err error) {
	version, rest := cutLine(text)
	h.version = strings.TrimRight(version, "\r")
	if h.version == version {
		h.oddly("lines end in LF alone")
	}
	switch h.version {
	case V10, V11, "WARC/0.17", "WARC/0.18":
	default:
		h.oddly("unknown version %q", h.version)
	}
	h.fields = make(Fields, 0, min(maxFields, strings.Count(rest, "\n")))
	for rest != "" {
		var line string
		line, rest = cutLine(rest)
		if line = strings.TrimRight(line, "\r"); line == "" {
			break
		}
		if len(h.fields) == maxFields {
			return h, fmt.Errorf("more than %d fields", maxFields)
		}
		h.addLine(line)
	}
	return h, h.length()
}

func cutLine(text string) (line, rest string) {
	line, rest, _ = strings.Cut(text, "\n")
	return line, rest
}

// oddly notes something once.
func (h *head) oddly(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, o := range h.odd {
		if o == text {
			return
		}
	}
	h.odd = append(h.odd, text)
}

func (h *head) addLine(line string) {
	if line[0] == ' ' || line[0] == '\t' {
		h.oddly("folded fields")
		if n := len(h.fields); n > 0 {
			h.fields[n-1].Value = strings.TrimSpace(h.fields[n-1].Value + " " + strings.TrimSpace(line))
		}
		return
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		h.oddly("a line without a colon: %q", shorten(line))
		return
	}
	if !isToken(name) {
		h.oddly("a field is called %q", shorten(name))
		name = strings.TrimSpace(name)
	}
	h.fields = append(h.fields, Field{name, strings.TrimSpace(value)})
}

// length reads Content-Length, of which there must be one value.
func (h *head) length() error {
	h.size = -1
	for _, f := range h.fields {
		if !strings.EqualFold(f.Name, FieldContentLength) {
			continue
		}
		n, err := strconv.ParseInt(f.Value, 10, 64)
		if err != nil || n < 0 || f.Value[0] == '+' {
			return fmt.Errorf("Content-Length is %q", shorten(f.Value))
		}
		if h.size >= 0 && n != h.size {
			return fmt.Errorf("Content-Length is both %d and %d", h.size, n)
		}
		h.size = n
	}
	if h.size < 0 {
		return errors.New("no Content-Length")
	}
	return nil
}

// lacks are rules of the standard on which fields there are that the head does not keep.
func (h *head) lacks() (out []string) {
	for _, name := range []string{FieldType, FieldID, FieldDate} {
		if h.fields.Get(name) == "" {
			out = append(out, "no "+name)
		}
	}
	if date := h.fields.Get(FieldDate); date != "" {
		if _, err := ParseDate(date); err != nil {
			out = append(out, fmt.Sprintf("WARC-Date is %q", shorten(date)))
		}
	}
	if id := h.fields.Get(FieldID); id != "" && (id[0] != '<' || id[len(id)-1] != '>') {
		out = append(out, fmt.Sprintf("WARC-Record-ID %q has no brackets", shorten(id)))
	}
	switch h.fields.Get(FieldType) {
	case Response, Request, Resource, Revisit, Conversion, Continuation:
		if h.fields.Get(FieldURI) == "" {
			out = append(out, "no WARC-Target-URI")
		}
	}
	return out
}

// isToken tells whether a name has only the characters the standard allows.
func isToken(name string) bool {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return name != ""
}

// shorten keeps what is quoted in a report on its line.
func shorten(s string) string {
	const most = 60
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
