package warc

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
)

// An Algorithm is how digests are made, by the name that stands before the colon.
type Algorithm string

// The algorithms digests are written with; md5 and sha512 are also verified.
const (
	SHA1     Algorithm = "sha1"
	SHA256   Algorithm = "sha256"
	NoDigest Algorithm = "none"
)

// newHash is nil for an algorithm that is not known.
func (a Algorithm) newHash() hash.Hash {
	switch strings.ReplaceAll(strings.ToLower(string(a)), "-", "") {
	case "sha1":
		return sha1.New()
	case "sha256":
		return sha256.New()
	case "sha512":
		return sha512.New()
	case "md5":
		return md5.New()
	}
	return nil
}

// seal is a digest as a field holds it: base32, as is customary, or hexadecimal.
func (a Algorithm) seal(sum []byte, inHex bool) string {
	if inHex {
		return string(a) + ":" + hex.EncodeToString(sum)
	}
	return string(a) + ":" + strings.TrimRight(base32.StdEncoding.EncodeToString(sum), "=")
}

// A seal is a digest that was read and what is to be equal to it.
type seal struct {
	field string // its name
	text  string
	want  []byte
	hash  hash.Hash
}

// readSeal is nil without a digest or with one of an unknown algorithm, which is no error:
// the standard names none. Both base32 and hexadecimal are in use, in either case.
func readSeal(field, text string) (*seal, error) {
	name, value, ok := strings.Cut(text, ":")
	if !ok {
		if text == "" {
			return nil, nil
		}
		return nil, fmt.Errorf("%s %q names no algorithm", field, text)
	}
	h := Algorithm(strings.TrimSpace(name)).newHash()
	if h == nil {
		return nil, nil
	}
	want, err := decodeSum(strings.TrimSpace(value), h.Size())
	if err != nil {
		return nil, fmt.Errorf("%s %q is no digest of its algorithm", field, text)
	}
	return &seal{field, text, want, h}, nil
}

func decodeSum(value string, size int) ([]byte, error) {
	if len(value) == 2*size {
		return hex.DecodeString(value)
	}
	value = strings.ToUpper(strings.TrimRight(value, "="))
	if sum, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(value); err != nil || len(sum) == size {
		return sum, err
	}
	return nil, hex.ErrLength
}

// broken tells whether the bytes hashed are not those that were sealed.
func (s *seal) broken() bool { return s != nil && string(s.hash.Sum(nil)) != string(s.want) }
