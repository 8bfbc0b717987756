package post

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// ContentTypeV03 is the property of a v03 message.
const ContentTypeV03 = "application/json"

// prefixV03 is the first word of the topics of announcements that are written as v03.
const prefixV03 = "v03"

// HeaderRetrievePath is, in v03, what is joined to baseUrl in place of relPath to fetch the file.
const HeaderRetrievePath = "retrievePath"

// A JSON is the value of a header that came as an object or array of a v03 announcement and has
// no meaning here. It is sent on in v03, and has no place in v02.
type JSON string

// MaxContent is the size in bytes of the largest file that can be carried: however it is
// written, the body stays within what readers take.
const MaxContent = 4 << 20

// Textual reports whether the content can be carried as text: UTF-8, and of the control characters only
// those that end lines and columns, as the others are six times as long in JSON.
func (c *Content) Textual() bool {
	for _, b := range c.Data {
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' {
			return false
		}
	}
	return utf8.Valid(c.Data)
}

// IsV03 reports whether announcements with a topic, or with topics of this prefix, are written
// as v03: its first word is v03.
func IsV03(topic string) bool { return hasWord(topic, prefixV03) }

// Encode writes a message in the version its topic names: v03 where the first word is that, else v02.
func Encode(a *Announcement) (Message, error) {
	if IsV03(a.Topic) {
		return EncodeV03(a)
	}
	return EncodeV02(a)
}

// Decode reads a message of any version that is read. Those of v00 are told by their topic, those
// of v03 by the first byte of the body, as all peers do. It takes over headers. Errors wrap
// ErrMalformed. What came as v00 has no time.
func Decode(topic string, headers map[string]any, body []byte) (*Announcement, error) {
	switch {
	case hasWord(topic, "v00"):
		return decodeV00(topic, headers, body)
	case hasWord(topic, "v01"):
		return nil, fmt.Errorf("%w: %w", ErrMalformed, errV01)
	}
	if b := bytes.TrimLeft(body, " \t\r\n"); len(b) > 0 && (b[0] == '{' || b[0] == '[') {
		return DecodeV03(topic, b)
	}
	return DecodeV02(topic, headers, body)
}
