package partition

import "math/rand/v2"

// AutoUnit is the number of bytes the automatic choice of a block size turns on.
const AutoUnit = 50 << 20

// MaxBlocks is how many blocks a file is cut into at most: whoever receives it keeps
// account of each.
const MaxBlocks = 1 << 20

// BlockSize is the block size in bytes for a file of size bytes when the user
// asked for blocksize: 1 is never cut, 0 is cut automatically, anything else
// cuts files larger than it. The result 0 means the file goes whole. It is larger than
// what was asked for where that would make more than MaxBlocks.
func BlockSize(size, blocksize int64) int64 {
	switch {
	case blocksize == 0:
		return AutoSize(size, AutoUnit)
	case blocksize == 1, size <= blocksize:
		return 0
	}
	return max(blocksize, ceilDiv(size, MaxBlocks))
}

// AutoSize is the block size in bytes chosen for a file of size bytes, 0 for whole: no file up to unit is
// cut, larger ones into three blocks, from 10 units on into ten, from 100 on into blocks of ten units.
func AutoSize(size, unit int64) int64 {
	n := ceilDiv(size, max(unit, 1)) // units, which do not overflow when they are multiplied
	switch {
	case n > 100:
		return max(10*unit, ceilDiv(size, MaxBlocks))
	case n > 10:
		return ceilDiv(size, 10)
	case n > 1:
		return ceilDiv(size, 3)
	}
	return 0
}

// Uneven is a block size close to blockSize that does not divide size, so that the last block is shorter: receivers
// of v02 take the last block of an even cutting for an empty one. 0 stays 0.
func Uneven(size, blockSize int64) int64 {
	if blockSize <= 0 || size%blockSize != 0 {
		return blockSize
	}
	smaller := blockSize - 1
	for smaller > 1 && size%smaller == 0 {
		smaller--
	}
	if smaller > 1 && ceilDiv(size, smaller) <= MaxBlocks {
		return smaller
	}
	larger := blockSize + 1
	for size%larger == 0 {
		larger++
	}
	return larger
}

// Numbers are the numbers of the blocks of b's file: in order, or at random.
func (b Block) Numbers(random bool) func(yield func(int64) bool) {
	return func(yield func(int64) bool) {
		var shuffled []int
		if random {
			shuffled = rand.Perm(int(b.Count))
		}
		for n := range b.Count {
			if random {
				n = int64(shuffled[n])
			}
			if !yield(n) {
				return
			}
		}
	}
}

func ceilDiv(a, b int64) int64 {
	if a <= 0 {
		return 0
	}
	return (a-1)/b + 1
}

// Cut returns block 0 of a file of size bytes cut by method into blocks of
// blockSize bytes; the others differ in Number alone. A blockSize of 0, or one
// that holds the whole file, gives the whole file when the method is Whole or Inplace.
func Cut(method Method, size, blockSize int64) Block {
	if blockSize <= 0 || method == Whole {
		return WholeFile(size)
	}
	if size <= blockSize {
		if method == Inplace {
			return WholeFile(size)
		}
		return Block{Method: method, Size: size, Count: 1}
	}
	return Block{
		Method:    method,
		Size:      blockSize,
		Count:     ceilDiv(size, blockSize),
		Remainder: size % blockSize,
	}
}
