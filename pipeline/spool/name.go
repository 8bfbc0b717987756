package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// The name of a spooled message is ARRIVAL,KEY,ID: nanoseconds since 1970 in twenty digits, so that
// names sort as messages came, the routing key, and the id of the message or what stands for it.
const (
	nameSep    = ","
	digestMark = "+" // begins an id made of the message itself; no id of its own is written so
	metaSuffix = ".meta"
	tempSuffix = ".tmp"

	keyRoom = 120 // bytes of a name for the key
	idRoom  = 80  // and for the id; with the rest below the 255 a file system takes
)

// makeName is the name of a message that arrived at that time.
func makeName(arrival uint64, key, id string) string {
	return fmt.Sprintf("%020d%s%s%s%s", arrival, nameSep, escape(key, keyRoom), nameSep, escape(id, idRoom))
}

// escape writes any bytes as a part of a file name: all but letters, digits, dot, dash and underscore
// as %XX. What is longer than room is cut, and a digest of the whole makes up for the rest.
func escape(s string, room int) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c := s[i]; isPlain(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
		if b.Len() > room {
			sum := sha256.Sum256([]byte(s))
			tail := "~" + hex.EncodeToString(sum[:8])
			return b.String()[:room-len(tail)] + tail
		}
	}
	return b.String()
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_'
}

// splitName takes a name apart. Key and order are empty where the name does not have them; ok is
// false where its key was cut or is not readable, and has to come from elsewhere.
func splitName(name string) (arrival, key, order string, ok bool) {
	arrival, rest, _ := strings.Cut(name, nameSep)
	key, order, _ = strings.Cut(rest, nameSep)
	if strings.Contains(key, "~") {
		return arrival, "", order, false
	}
	key, ok = unescape(key)
	return arrival, key, order, ok && key != ""
}

// unescape takes any other byte for itself: names are also written by people.
func unescape(s string) (string, bool) {
	if !strings.Contains(s, "%") {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(n))
		i += 2
	}
	return b.String(), true
}

// arrivalOf reads the time of a name made here.
func arrivalOf(name string) (uint64, bool) {
	digits, _, found := strings.Cut(name, nameSep)
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && found && len(digits) == 20
}

// isMessage tells the body of a message from everything else in a spool: metas, what is being
// written, and what is hidden.
func isMessage(name string) bool {
	return !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, metaSuffix) && !strings.HasSuffix(name, tempSuffix)
}
