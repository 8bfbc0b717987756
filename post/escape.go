package post

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

// HeaderExactPath carries the bytes of a path, in base64, when the first line
// cannot: names that are not UTF-8, hold control characters, or look
// as if they were escaped already. Peers that do not know it forward it.
const HeaderExactPath = "exact_path"

const hexDigits = "0123456789ABCDEF"

// writeEscaped writes one character of a path or topic for the wire: blank and
// # as all peers write them, and control characters, which would break the line.
func writeEscaped(b *strings.Builder, r rune) {
	if r == ' ' || r == '#' || r < 0x20 || r == 0x7f {
		b.WriteByte('%')
		b.WriteByte(hexDigits[r>>4])
		b.WriteByte(hexDigits[r&15])
		return
	}
	b.WriteRune(r)
}

// escapePath is relpath as it stands on the first line. It leaves % alone, as
// every living peer does.
func escapePath(p string) string {
	clean := true
	for i := 0; i < len(p) && clean; i++ {
		c := p[i]
		clean = c > ' ' && c != '#' && c != 0x7f && c < utf8.RuneSelf
	}
	if clean {
		return p
	}
	var b strings.Builder
	b.Grow(len(p) + 16)
	for _, r := range p {
		writeEscaped(&b, r)
	}
	return b.String()
}

// unescapePath undoes the escapes every peer knows, and those for the white
// space that would break the line; other percent signs stand for themselves.
func unescapePath(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	return strings.NewReplacer("%20", " ", "%23", "#", "%09", "\t", "%0A", "\n", "%0a", "\n", "%0D", "\r", "%0d", "\r").Replace(s)
}

// Text is srcpath and relpath as they stand on the first line, without the
// blank between: what accept and reject patterns are matched against.
func (a *Announcement) Text() string { return escapePath(a.Base) + escapePath(a.Path) }

// exactPath is the value of HeaderExactPath for p, or "" when the first line
// carries p as it is.
func exactPath(p string) (string, error) {
	if unescapePath(escapePath(p)) == p {
		return "", nil
	}
	v := base64.StdEncoding.EncodeToString([]byte(p))
	if len(v) > MaxHeader {
		return "", fmt.Errorf("%w: no v02 message can carry its name", ErrTooLong)
	}
	return v, nil
}

// pathFrom is the path of a received line: exact wins where it is the same
// path, so that a forged header cannot name another file than the line does.
func pathFrom(field, exact string) string {
	if exact != "" {
		if raw, err := base64.StdEncoding.DecodeString(exact); err == nil && escapePath(string(raw)) == field {
			return string(raw)
		}
	}
	return unescapePath(field)
}
