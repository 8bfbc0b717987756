package partition

// The automatic choice of a block size turns on this many bytes.
const autoUnit = 50 << 20

// BlockSize is the block size in bytes for a file of size bytes when the user
// asked for blocksize: 1 is never cut, 0 is cut automatically, anything else
// cuts files larger than it. The result 0 means the file goes whole.
func BlockSize(size, blocksize int64) int64 {
	switch {
	case blocksize == 0:
		return automatic(size)
	case blocksize == 1, size <= blocksize:
		return 0
	}
	return blocksize
}

func automatic(size int64) int64 {
	switch {
	case size > 100*autoUnit:
		return 10 * autoUnit
	case size > 10*autoUnit:
		return ceilDiv(size, 10)
	case size > autoUnit:
		return ceilDiv(size, 3)
	}
	return 0
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

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
