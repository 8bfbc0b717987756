package pump

import (
	"fmt"
	"strings"

	"srpump/partition"
	"srpump/pump/config"
)

// A cutter says into which blocks a poster cuts files (sr_options(5): blocksize, parts, compat, randomize).
type cutter struct {
	size   int64 // as of blocksize
	unit   int64 // of the automatic choice, in bytes
	uneven bool  // no block size divides the size of its file
	random bool  // blocks are announced in any order
}

// newCutter reads the options. parts, where it is set, comes before blocksize.
func newCutter(v config.Values) (cutter, error) {
	c := cutter{size: v.Size("blocksize"), unit: partition.AutoUnit, uneven: v.String("compat") == "v02", random: v.Bool("randomize")}
	method, arg, given := strings.Cut(v.String("parts"), ",")
	var n int64
	if given {
		var err error
		if n, err = config.ParseSize(arg); err != nil {
			return c, fmt.Errorf("cannot use parts: %w", err)
		}
	}
	switch {
	case method == "":
	case (method == "1" || method == "p") && !given:
		c.size = 1
	case (method == "0" || method == "i") && !given:
		c.size = 0
	case method == "0" && n > 0:
		c.size, c.unit = 0, n
	case method == "i" && n > 1:
		c.size = n
	default:
		return c, fmt.Errorf("cannot use parts %q: it is none of 0, 1, i, p, 0,<unit> and i,<block size>", v.String("parts"))
	}
	return c, nil
}

// block is the first of the blocks of a file of size bytes.
func (c cutter) block(size int64) partition.Block {
	bs := partition.BlockSize(size, c.size)
	if c.size == 0 {
		bs = partition.AutoSize(size, c.unit)
	}
	if c.uneven {
		bs = partition.Uneven(size, bs)
	}
	return partition.Cut(partition.Inplace, size, bs)
}
