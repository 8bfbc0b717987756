package fetch

import (
	"hash"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"srpump/post"
)

const (
	smallBuffer = 64 << 10
	largeBuffer = 256 << 10
	// pipelined is the size from which a second goroutine pays for itself.
	pipelined = 1 << 20
	// inPipe is the number of large buffers between reading and hashing.
	inPipe = 4
)

// copying is how many large files are copied in this process: a second goroutine for each pays while there is a
// processor for it, and costs where there is none.
var copying atomic.Int32

// Buffers are pooled: the collector would otherwise see 64 KiB per small file.
var (
	smallBuffers = sync.Pool{New: func() any { return new([smallBuffer]byte) }}
	largeBuffers = sync.Pool{New: func() any { return new([largeBuffer]byte) }}
)

// copyBody writes a body, of so many bytes or below zero of an unknown number, to the staged
// file. Method "" computes no sum.
func (j *Job) copyBody(s *Staged, size int64, body io.Reader, method string) (int64, post.Fingerprint, error) {
	c := &copier{job: j, to: s.f, from: body, hash: post.NewHash(method), marks: s.marks}
	return c.copy(size, method)
}

// copy brings a file of so many bytes, below zero of an unknown number, to its end. It returns its size and sum.
func (c *copier) copy(size int64, method string) (int64, post.Fingerprint, error) {
	err := c.bring(size)
	if err != nil {
		c.marks.end(c.n, c.hash)
		return c.n, post.Fingerprint{}, err
	}
	if c.hash == nil {
		return c.n, post.Fingerprint{}, nil
	}
	return c.n, post.OfHash(method, c.hash), nil
}

// bring chooses how.
func (c *copier) bring(size int64) error {
	if size < pipelined && (size >= 0 || c.hash == nil) {
		buf := smallBuffers.Get().(*[smallBuffer]byte)
		defer smallBuffers.Put(buf)
		return c.inline(buf[:])
	}
	n := copying.Add(1)
	defer copying.Add(-1)
	if c.hash != nil && 2*int(n) <= runtime.GOMAXPROCS(0) {
		return c.pipeline()
	}
	buf := largeBuffers.Get().(*[largeBuffer]byte)
	defer largeBuffers.Put(buf)
	return c.inline(buf[:])
}

// copier moves bytes from a source to a file and through a hash.
type copier struct {
	job   *Job
	to    io.Writer
	from  io.Reader
	hash  hash.Hash // or nil
	n     int64     // bytes of the file so far
	marks *marks    // or nil
}

// fill reads until buf is full or the source ends or fails, and writes what it read.
// It stops at the first byte too many: a server may send for ever.
func (c *copier) fill(buf []byte) (n int, end bool, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = c.from.Read(buf[n:])
		n += m
		if c.job.Moved != nil {
			c.job.Moved.Add(int64(m))
		}
		if tooBig := c.job.tooBig(c.n + int64(n)); tooBig != nil {
			return 0, true, tooBig
		}
	}
	if n > 0 {
		if _, werr := c.to.Write(buf[:n]); werr != nil {
			return 0, true, c.job.Tree.failed("write", c.job.Path, werr)
		}
	}
	c.n += int64(n)
	if c.job.Here != nil {
		c.job.Here.Store(c.n)
	}
	if err == io.EOF {
		return n, true, nil
	}
	return n, false, err
}

// inline does everything in this goroutine.
func (c *copier) inline(buf []byte) error {
	for {
		n, end, err := c.fill(buf)
		if c.hash != nil {
			c.hash.Write(buf[:n])
		}
		if end || err != nil {
			return err
		}
		c.marks.pass(c.n, c.hash)
	}
}

// pipeline hashes in a second goroutine, which ends before it returns.
func (c *copier) pipeline() error {
	full, free := make(chan []byte, inPipe), make(chan []byte, inPipe)
	for range inPipe {
		buf := largeBuffers.Get().(*[largeBuffer]byte)
		defer largeBuffers.Put(buf)
		free <- buf[:]
	}
	done, n := make(chan struct{}), c.n
	go func() {
		defer close(done)
		for b := range full {
			c.hash.Write(b)
			n += int64(len(b))
			c.marks.pass(n, c.hash)
			free <- b[:largeBuffer]
		}
	}()
	err := c.feed(full, free)
	close(full)
	<-done
	return err
}

func (c *copier) feed(full chan<- []byte, free <-chan []byte) error {
	for {
		buf := <-free
		n, end, err := c.fill(buf)
		full <- buf[:n]
		if end || err != nil {
			return err
		}
	}
}
