package sfm

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// longestName is how long a safe name gets, so that what is added to it still is a file name.
const longestName = 128

// SafeName is an id as the beginning of a file name: each character that is no ASCII letter or
// digit is an underscore. What would be too long keeps its beginning and a digest of the whole.
// Two ids can have one name.
func SafeName(id string) string {
	name := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			return c
		}
		return '_'
	}, id)
	if len(name) <= longestName {
		return name
	}
	sum := sha256.Sum256([]byte(id))
	return name[:longestName-17] + "_" + hex.EncodeToString(sum[:8])
}
