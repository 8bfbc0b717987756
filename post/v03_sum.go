package post

import (
	"crypto/md5"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"path"
	"strings"
)

// v03 names methods by words, and has the value of a checksum in base64.

// longMethod is the word of v03 for a method; of one it does not know, the method itself.
func longMethod(method string) string {
	switch method {
	case SumMD5:
		return "md5"
	case SumSHA512:
		return "sha512"
	case SumName:
		return "md5name"
	}
	return method
}

// shortMethod undoes longMethod.
func shortMethod(word string) string {
	switch word {
	case "md5":
		return SumMD5
	case "sha512":
		return SumSHA512
	case "md5name":
		return SumName
	}
	return word
}

// sumLength is the number of bytes in the value of a method, 0 where it is no checksum.
func sumLength(method string) int {
	switch method {
	case SumMD5, SumName:
		return md5.Size
	case SumSHA512:
		return sha512.Size
	}
	return 0
}

// identity is the method and value of v03 for a fingerprint that is no checksum; empty for none, and
// for what fileOp says. What v03 has no word for keeps its letter.
func (f Fingerprint) identity() (method, value string) {
	switch f.Method {
	case "", SumLink, SumRemoved, SumMkdir, SumRmdir:
		return "", ""
	case SumLater:
		return "cod", longMethod(f.Value)
	case SumGiven:
		return "arbitrary", f.Value
	case SumNone:
		return "random", f.Value
	}
	return f.Method, f.Value
}

// digest puts the bytes of a checksum into raw, and returns how many there are: 0 where it is none.
func (f Fingerprint) digest(raw []byte) int {
	n := sumLength(f.Method)
	if n == 0 || len(f.Value) != 2*n {
		return 0
	}
	if _, err := hex.Decode(raw, []byte(f.Value)); err != nil {
		return 0
	}
	return n
}

// ofIdentity is the fingerprint that an identity of v03 stands for, of a file at path; zero where
// nothing can be made of it.
func ofIdentity(method, value, file string) Fingerprint {
	base := path.Base(file)
	short := shortMethod(method)
	switch method {
	case "remove":
		return OfRemoval(base)
	case "cod":
		short, value = SumLater, shortMethod(value)
		if value == "" {
			value = SumMD5
		}
	case "random":
		if short = SumNone; value == "" {
			return NoSum()
		}
	case "arbitrary":
		short = SumGiven
	}
	if n := sumLength(short); n > 0 && short != method {
		if value = inHex(value, n); value == "" && short == SumName {
			return OfName(base)
		}
		if value == "" {
			return Fingerprint{}
		}
	}
	if f := (Fingerprint{short, value}); f.sendable() {
		return f
	}
	return Fingerprint{}
}

// inHex is a checksum of n bytes, in base64 with or without its padding, or already in hexadecimal; empty
// when it is none.
func inHex(value string, n int) string {
	if len(value) == 2*n {
		if _, err := hex.DecodeString(value); err == nil {
			return strings.ToLower(value)
		}
	}
	var raw [sha512.Size + 2]byte
	var text [2 * sha512.Size]byte
	value = strings.TrimRight(value, "=")
	if base64.RawStdEncoding.DecodedLen(len(value)) > len(raw) {
		return ""
	}
	if m, err := base64.RawStdEncoding.Decode(raw[:], []byte(value)); err != nil || m != n {
		return ""
	}
	return string(text[:hex.Encode(text[:], raw[:n])])
}
