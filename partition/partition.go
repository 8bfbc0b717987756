// Package partition is how one file is cut into blocks and put together again:
// the arithmetic of the header "parts" and the names of part files
// (sr_post(7), AMQP HEADERS, "parts").
//
//	Partition   the cutting of one file: block size, number of blocks, remainder
//	Block       one piece of it, numbered from 0
//	Part file   a file that holds one block, named after the file and the block
//
// It imports nothing of ours and knows no messages, networks or options.
package partition

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Method says how the file travels (sr_post(7), "parts").
type Method byte

// The methods of sr_post(7).
const (
	Whole   Method = '1' // the file is in a single part
	Inplace Method = 'i' // blocks of one file, written into one file
	Parted  Method = 'p' // each block is a part file of its own
)

// ErrParts is what every error of Parse wraps.
var ErrParts = errors.New("bad parts")

// A Block is one announced piece of a file: the header
// parts=<method>,<bsz>,<blktot>,<brem>,<bno>. The zero value is not valid.
type Block struct {
	Method    Method
	Size      int64 // bsz: bytes in every block but perhaps the last; for Whole the file's size
	Count     int64 // blktot: blocks in the file
	Remainder int64 // brem: bytes in the last block; 0 when it is as long as the others
	Number    int64 // bno: this block, from 0
}

// WholeFile is the only block of a file of size bytes.
func WholeFile(size int64) Block { return Block{Method: Whole, Size: size, Count: 1} }

// String is the value of the header "parts".
func (b Block) String() string {
	buf := make([]byte, 0, 48)
	buf = append(buf, byte(b.Method))
	for _, n := range [...]int64{b.Size, b.Count, b.Remainder, b.Number} {
		buf = append(buf, ',')
		buf = strconv.AppendInt(buf, n, 10)
	}
	return string(buf)
}

// Offset is where the block begins in the file, in bytes.
func (b Block) Offset() int64 { return b.Number * b.Size }

// Length is the number of bytes in the block.
func (b Block) Length() int64 {
	if b.Last() && b.Remainder > 0 {
		return b.Remainder
	}
	return b.Size
}

// FileSize is the number of bytes in the whole file.
func (b Block) FileSize() int64 {
	if b.Remainder > 0 {
		return b.Size*(b.Count-1) + b.Remainder
	}
	return b.Size * b.Count
}

// Last reports whether no block follows.
func (b Block) Last() bool { return b.Number == b.Count-1 }

// Check returns an error wrapping ErrParts unless the numbers describe a block
// of a file whose size fits in 63 bits.
func (b Block) Check() error {
	switch {
	case b.Method != Whole && b.Method != Inplace && b.Method != Parted:
		return fmt.Errorf("%w: method %q", ErrParts, byte(b.Method))
	case b.Size < 0 || b.Count < 1 || b.Remainder < 0 || b.Number < 0:
		return fmt.Errorf("%w: a number is out of range in %s", ErrParts, b)
	case b.Number >= b.Count:
		return fmt.Errorf("%w: block=%d of=%d", ErrParts, b.Number, b.Count)
	case b.Method == Whole && (b.Count != 1 || b.Remainder != 0):
		return fmt.Errorf("%w: a whole file in %d blocks, remainder %d", ErrParts, b.Count, b.Remainder)
	case b.Method != Whole && b.Size == 0:
		return fmt.Errorf("%w: block size 0", ErrParts)
	case b.Remainder > 0 && b.Remainder >= b.Size:
		return fmt.Errorf("%w: remainder %d in blocks of %d", ErrParts, b.Remainder, b.Size)
	case b.Size > 0 && b.Count > math.MaxInt64/b.Size:
		return fmt.Errorf("%w: file larger than 2^63 bytes", ErrParts)
	}
	return nil
}

// Parse reads the header "parts". Living peers leave trailing fields out and
// write a block count of 0 for whole files; both are read as meant. The error
// wraps ErrParts.
func Parse(s string) (Block, error) {
	f := strings.Split(s, ",")
	if len(f) > 5 || len(f[0]) != 1 {
		return Block{}, fmt.Errorf("%w: %.80q", ErrParts, s)
	}
	n := [5]int64{2: 1}
	for i := 1; i < len(f); i++ {
		v, err := strconv.ParseInt(strings.TrimSpace(f[i]), 10, 64)
		if err != nil {
			return Block{}, fmt.Errorf("%w: %.80q", ErrParts, s)
		}
		n[i] = v
	}
	b := Block{Method: Method(f[0][0]), Size: n[1], Count: n[2], Remainder: n[3], Number: n[4]}
	if b.Method == Whole && b.Count == 0 {
		b.Count = 1
	}
	return b, b.Check()
}
