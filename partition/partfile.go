package partition

import (
	"fmt"
	"strconv"
	"strings"
)

const partSuffix = ".Part"

// PartName is the name of the part file that holds block b of the file called
// name: <name>.<bsz>.<blktot>.<brem>.<bno>.<sum method>.Part. sumMethod is the
// letter of the fingerprint, such as d.
func PartName(name string, b Block, sumMethod string) string {
	return fmt.Sprintf("%s.%d.%d.%d.%d.%s%s", name, b.Size, b.Count, b.Remainder, b.Number, sumMethod, partSuffix)
}

// IsPartName reports whether name claims to be a part file.
func IsPartName(name string) bool { return strings.HasSuffix(name, partSuffix) }

// ParsePartName takes the name of a part file apart. length is the part file's
// size in bytes and must be that of the block. The error wraps ErrParts.
func ParsePartName(name string, length int64) (file string, b Block, sumMethod string, err error) {
	bad := func(why string) (string, Block, string, error) {
		return "", Block{}, "", fmt.Errorf("%w: part file %q: %s", ErrParts, name, why)
	}
	f := strings.Split(strings.TrimSuffix(name, partSuffix), ".")
	if !IsPartName(name) || len(f) < 6 {
		return bad("not <file>.<bsz>.<blktot>.<brem>.<bno>.<sum>.Part")
	}
	tail := f[len(f)-5:]
	var n [4]int64
	for i := range n {
		if n[i], err = strconv.ParseInt(tail[i], 10, 64); err != nil {
			return bad("field " + strconv.Quote(tail[i]) + " is no number")
		}
	}
	b = Block{Method: Parted, Size: n[0], Count: n[1], Remainder: n[2], Number: n[3]}
	if err := b.Check(); err != nil {
		return "", Block{}, "", err
	}
	if b.Length() != length {
		return bad(fmt.Sprintf("holds %d bytes, its block has %d", length, b.Length()))
	}
	file = strings.Join(f[:len(f)-5], ".")
	if file == "" || tail[4] == "" {
		return bad("empty name or sum method")
	}
	if name != PartName(file, b, tail[4]) {
		return bad("its numbers have signs or leading zeros")
	}
	return file, b, tail[4], nil
}
