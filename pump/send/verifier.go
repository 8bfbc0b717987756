package send

import (
	"hash"
	"io"
	"sync/atomic"

	"srpump/post"
)

// A verifier computes the checksum of what is read through it.
type verifier struct {
	from   io.Reader
	method string
	hash   hash.Hash     // or nil
	n      int64         // bytes so far
	moved  *atomic.Int64 // or nil, as there
	there  *atomic.Int64
}

func newVerifier(from io.Reader, method string, moved, there *atomic.Int64) *verifier {
	return &verifier{from: from, method: method, hash: post.NewHash(method), moved: moved, there: there}
}

func (v *verifier) Read(b []byte) (int, error) {
	n, err := v.from.Read(b)
	v.n += int64(n)
	if v.moved != nil {
		v.moved.Add(int64(n))
	}
	if v.there != nil {
		v.there.Store(v.n)
	}
	if v.hash != nil {
		v.hash.Write(b[:n])
	}
	return n, err
}

// sum is the fingerprint of what was read so far; zero where none is computed.
func (v *verifier) sum() post.Fingerprint {
	if v.hash == nil {
		return post.Fingerprint{}
	}
	return post.OfHash(v.method, v.hash)
}
