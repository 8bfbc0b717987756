package sqlite

import (
	"encoding/binary"
	"math"
	"time"
)

// maxNesting bounds tables within tables of a damaged file.
const maxNesting = 64

// A reader takes values off stored bytes; after an error it yields zeroes.
type reader struct {
	b     []byte
	depth int
	err   error
}

func (r *reader) fail() { r.b, r.err = nil, errDamaged }

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) string() string { return string(r.bytes(r.uvarint())) }

// length is a count of values that follow, each at least one byte long.
func (r *reader) length() int {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) table() map[string]any {
	n := r.length()
	t := make(map[string]any, n)
	for range n {
		k := r.string()
		t[k] = r.value()
	}
	return t
}

func (r *reader) array() []any {
	a := make([]any, r.length())
	for i := range a {
		a[i] = r.value()
	}
	return a
}

func (r *reader) value() any {
	switch tag := r.byte(); tag {
	case 'V':
		return nil
	case 'S':
		return r.string()
	case 'x':
		return append([]byte{}, r.bytes(r.uvarint())...)
	case 't':
		return r.byte() != 0
	case 'f':
		return math.Float32frombits(uint32(r.fixed(4)))
	case 'd':
		return math.Float64frombits(r.fixed(8))
	case 'T':
		return time.Unix(r.varint(), 0).UTC()
	case 'U':
		return r.uvarint()
	case 'F', 'A':
		return r.nested(tag)
	default:
		return r.integer(tag)
	}
}

func (r *reader) nested(tag byte) any {
	if r.depth++; r.depth > maxNesting {
		r.fail()
		return nil
	}
	defer func() { r.depth-- }()
	if tag == 'F' {
		return r.table()
	}
	return r.array()
}

func (r *reader) fixed(n uint64) (v uint64) {
	for _, c := range r.bytes(n) {
		v = v<<8 | uint64(c)
	}
	return v
}

func (r *reader) integer(tag byte) any {
	v := r.varint()
	switch tag {
	case 'b':
		return int8(v)
	case 'B':
		return uint8(v)
	case 's':
		return int16(v)
	case 'u':
		return uint16(v)
	case 'I':
		return int32(v)
	case 'i':
		return uint32(v)
	case 'l':
		return v
	}
	r.fail()
	return nil
}
