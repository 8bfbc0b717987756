package post

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"srpump/partition"
)

// prefixV00 begins the topics of the announcements before v02.
const prefixV00 = "v00.dd.notify"

// sourceV00 is where all of them came from; they do not say.
const sourceV00 = "metpx"

// errV01 is the version between v00 and v02, which no living program reads.
var errV01 = errors.New("announcements of version v01 are not understood")

// PrefixRead is the prefix of the topics of decoded announcements, for a prefix they
// were bound by: those of v00 are read as v02.
func PrefixRead(prefix string) string {
	if hasWord(prefix, "v00") {
		return DefaultPrefix
	}
	return prefix
}

// hasWord reports whether word is the first one of a topic.
func hasWord(topic, word string) bool {
	rest, ok := strings.CutPrefix(topic, word)
	return ok && (rest == "" || rest[0] == '.')
}

// decodeV00 reads "<md5> <size> <srcpath> <relpath>". The announcement has no time: it is zero,
// and for who received it to fill in. Its topic is that of v02.
func decodeV00(topic string, headers map[string]any, body []byte) (*Announcement, error) {
	malformed := func(err error) (*Announcement, error) { return nil, fmt.Errorf("%w: %w", ErrMalformed, err) }
	line, err := firstLine(body)
	if err != nil {
		return malformed(err)
	}
	if len(line) < 4 {
		return malformed(fmt.Errorf("v00 line %.60q has %d of 4 fields", body, len(line)))
	}
	if raw, err := hex.DecodeString(line[0]); err != nil || len(raw) != md5Size {
		return malformed(fmt.Errorf("v00 checksum %.60q is no MD5", line[0]))
	}
	size, err := strconv.ParseInt(line[1], 10, 64)
	if err != nil || size < 0 {
		return malformed(fmt.Errorf("v00 size %.60q is no number", line[1]))
	}
	a := &Announcement{Topic: Reprefix(topic, prefixV00, DefaultPrefix), Base: line[2], Path: unescapePath(line[3]), Headers: headers,
		Sum: Fingerprint{SumMD5, strings.ToLower(line[0])}, Block: partition.WholeFile(size)}
	if a.Path == "" || strings.IndexByte(a.Path, 0) >= 0 {
		return malformed(fmt.Errorf("NUL in path %.80q", a.Path))
	}
	for _, name := range []string{HeaderSum, HeaderParts, HeaderExactPath} {
		delete(a.Headers, name)
	}
	a.SetHeader(HeaderSource, sourceV00)
	return a, nil
}

// md5Size is the length of an MD5 checksum in bytes.
const md5Size = 16
