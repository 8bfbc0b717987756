package winnow

import (
	"bytes"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// A frame holds records written together. All numbers are little-endian.
//
//	0  4 bytes   magic "\xf7wnf"
//	4  uint32    length of the records in bytes, a multiple of 48
//	8  uint64    xxhash64 of the length and the records
//	16 records   48 bytes each: slot 16, key 16, time announced int64 ns, first seen int64 ns
const (
	frameMagic  = "\xf7wnf"
	frameHeader = 16
	frameMax    = 1024 // records; what a flipped bit can cost
)

// appendFrames writes records as frames.
func appendFrames(b []byte, recs []mark) []byte {
	for len(recs) > 0 {
		n := min(len(recs), frameMax)
		b = appendFrame(b, recs[:n])
		recs = recs[n:]
	}
	return b
}

func appendFrame(b []byte, recs []mark) []byte {
	at := len(b)
	b = append(b, frameMagic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(recs)*markSize))
	b = append(b, make([]byte, 8)...)
	for i := range recs {
		b = appendMark(b, &recs[i])
	}
	binary.LittleEndian.PutUint64(b[at+8:], frameSum(b[at:]))
	return b
}

func frameSum(f []byte) uint64 {
	var d xxhash.Digest
	d.Reset()
	_, _ = d.Write(f[4:8])
	_, _ = d.Write(f[frameHeader:])
	return d.Sum64()
}

func appendMark(b []byte, m *mark) []byte {
	for _, v := range [...]uint64{m.slot[0], m.slot[1], m.key[0], m.key[1], uint64(m.time), uint64(m.first)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func readMark(b []byte) mark {
	u := binary.LittleEndian.Uint64
	return mark{digest{u(b), u(b[8:])}, digest{u(b[16:]), u(b[24:])}, int64(u(b[32:])), int64(u(b[40:]))}
}

// frameAt returns the length of the whole frame at the start of b, or 0.
func frameAt(b []byte) int {
	if len(b) < frameHeader || string(b[:4]) != frameMagic {
		return 0
	}
	n := int(binary.LittleEndian.Uint32(b[4:]))
	if n == 0 || n%markSize != 0 || n > frameMax*markSize || n > len(b)-frameHeader {
		return 0
	}
	b = b[:frameHeader+n]
	if binary.LittleEndian.Uint64(b[8:]) != frameSum(b) {
		return 0
	}
	return len(b)
}

// A scan is what readFrames met: where the last good frame ends, and the number of
// stretches that were no frames and had frames behind them.
type scan struct {
	end, damaged int
}

// readFrames calls fn with where each record of b is, from offset at on, and passes over
// what is damaged.
func readFrames(b []byte, at int, fn func(at int)) scan {
	s := scan{end: at}
	for at < len(b) {
		n := frameAt(b[at:])
		if n == 0 {
			next := bytes.Index(b[at+1:], []byte(frameMagic))
			if next < 0 {
				break
			}
			at += 1 + next
			continue
		}
		if at != s.end {
			s.damaged++
		}
		for r := at + frameHeader; r < at+n; r += markSize {
			fn(r)
		}
		at += n
		s.end = at
	}
	return s
}
