package post

import (
	"crypto/md5"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"strings"
)

// The methods of sr_post(7), "sum", and those living peers add.
const (
	SumNone    = "0" // no checksum: copy unconditionally
	SumMD5     = "d" // MD5 of the bytes
	SumSHA512  = "s" // SHA-512 of the bytes
	SumName    = "n" // MD5 of the base name
	SumLater   = "z" // computed by the first who fetches; the value is the method
	SumGiven   = "a" // an arbitrary value of some application
	SumLink    = "L" // a symbolic link: SHA-512 of its text
	SumRemoved = "R" // removed: SHA-512 of the base name
	SumMkdir   = "m" // a directory was made
	SumRmdir   = "r" // a directory was removed
)

// A Fingerprint is the header "sum": it identifies bytes, or says what else
// happened. The zero value is a missing header.
type Fingerprint struct {
	Method string
	Value  string
}

// ParseSum reads the header "sum". It accepts what peers send without comma, such as R.
func ParseSum(s string) (Fingerprint, error) {
	method, value, _ := strings.Cut(s, ",")
	if f := (Fingerprint{method, value}); f.sendable() {
		return f, nil
	}
	return Fingerprint{}, fmt.Errorf("bad sum %.80q", s)
}

// sendable reports whether String is what ParseSum reads.
func (f Fingerprint) sendable() bool {
	return f.Method != "" && len(f.Method)+1+len(f.Value) <= MaxHeader && printable(f.Method) && printable(f.Value) && strings.IndexByte(f.Method, ',') < 0
}

func printable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// String is the value of the header; it always holds a comma.
func (f Fingerprint) String() string {
	if f == (Fingerprint{}) {
		return ""
	}
	return f.Method + "," + f.Value
}

// Equal compares fingerprints; the hexadecimal value of a checksum may be in either case.
func (f Fingerprint) Equal(g Fingerprint) bool {
	return f.Method == g.Method && (f.Value == g.Value || f.Verifiable() && strings.EqualFold(f.Value, g.Value))
}

// Verifiable reports whether the value is a checksum of the bytes that we can compute.
func (f Fingerprint) Verifiable() bool { return f.Method == SumMD5 || f.Method == SumSHA512 }

// IsRemoval reports whether the path is gone.
func (f Fingerprint) IsRemoval() bool { return f.Method == SumRemoved || f.Method == SumRmdir }

// IsLink reports whether the path is a symbolic link.
func (f Fingerprint) IsLink() bool { return f.Method == SumLink }

// HashMethod is the method to compute over the bytes while fetching: the
// fingerprint's own, the one z asks for, or MD5 where it says nothing we know.
func (f Fingerprint) HashMethod() string {
	m := f.Method
	if m == SumLater {
		m = f.Value
	}
	if m == SumSHA512 {
		return m
	}
	return SumMD5
}

// Announced is the fingerprint to announce for bytes received under f whose
// checksum is computed: values only the sender can know are kept.
func (f Fingerprint) Announced(computed Fingerprint) Fingerprint {
	switch f.Method {
	case SumMD5, SumSHA512, SumLater, "":
		return computed
	}
	return f
}

// NewHash is the hash behind method, or nil when it has none.
func NewHash(method string) hash.Hash {
	switch method {
	case SumMD5:
		return md5.New()
	case SumSHA512:
		return sha512.New()
	}
	return nil
}

// OfHash is the fingerprint of the bytes written to h.
func OfHash(method string, h hash.Hash) Fingerprint {
	return Fingerprint{method, hex.EncodeToString(h.Sum(nil))}
}

// OfReader is the fingerprint by method of everything in r, and the number of bytes;
// buf is the space to read through. The method must be one that NewHash knows.
func OfReader(method string, r io.Reader, buf []byte) (Fingerprint, int64, error) {
	h := NewHash(method)
	if h == nil {
		return Fingerprint{}, 0, fmt.Errorf("no checksum method %q", method)
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{r}, buf)
	return OfHash(method, h), n, err
}

// OfName is the fingerprint of a base name.
func OfName(base string) Fingerprint {
	sum := md5.Sum([]byte(base))
	return Fingerprint{SumName, hex.EncodeToString(sum[:])}
}

// OfLink is the fingerprint of a symbolic link's text.
func OfLink(target string) Fingerprint { return Fingerprint{SumLink, sha512Hex(target)} }

// OfRemoval is the fingerprint of the removal of a file with this base name.
func OfRemoval(base string) Fingerprint { return Fingerprint{SumRemoved, sha512Hex(base)} }

// OfDirectory is the fingerprint of the directory at a relpath being made or removed: method is
// SumMkdir or SumRmdir.
func OfDirectory(method, rel string) Fingerprint {
	sum := md5.Sum([]byte(rel))
	return Fingerprint{method, hex.EncodeToString(sum[:])}
}

// NoSum is a fingerprint that says nothing: four random digits.
func NoSum() Fingerprint { return Fingerprint{SumNone, fmt.Sprintf("%04d", rand.IntN(10000))} }

func sha512Hex(s string) string {
	sum := sha512.Sum512([]byte(s))
	return hex.EncodeToString(sum[:])
}
