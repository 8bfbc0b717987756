package fetch

import (
	"hash"
	"io"
	"os"
	"sync"

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

// Buffers are pooled: the collector would otherwise see 64 KiB per small file.
var (
	smallBuffers = sync.Pool{New: func() any { return new([smallBuffer]byte) }}
	largeBuffers = sync.Pool{New: func() any { return new([largeBuffer]byte) }}
)

// copyBody writes a body, of so many bytes or below zero of an unknown number, to the staged
// file. Method "" computes no sum.
func (j *Job) copyBody(s *Staged, size int64, body io.Reader, method string) (int64, post.Fingerprint, error) {
	h := post.NewHash(method)
	c := &copier{job: j, to: s.f, from: body, hash: h}
	var err error
	if size >= 0 && size < pipelined || h == nil && size < pipelined {
		buf := smallBuffers.Get().(*[smallBuffer]byte)
		err = c.inline(buf[:])
		smallBuffers.Put(buf)
	} else {
		err = c.pipeline()
	}
	if err != nil || h == nil {
		return c.n, post.Fingerprint{}, err
	}
	return c.n, post.OfHash(method, h), nil
}

// copier moves bytes from a source to a file and through a hash.
type copier struct {
	job  *Job
	to   *os.File
	from io.Reader
	hash hash.Hash // or nil
	n    int64     // bytes so far
}

// fill reads until buf is full or the source ends, and writes what it read.
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
	if err != nil && err != io.EOF {
		return 0, true, err
	}
	if n > 0 {
		if _, werr := c.to.Write(buf[:n]); werr != nil {
			return 0, true, c.job.Tree.failed("write", c.job.Path, werr)
		}
	}
	c.n += int64(n)
	return n, err == io.EOF, nil
}

// inline does everything in this goroutine.
func (c *copier) inline(buf []byte) error {
	for {
		n, end, err := c.fill(buf)
		if err != nil {
			return err
		}
		if c.hash != nil {
			c.hash.Write(buf[:n])
		}
		if end {
			return nil
		}
	}
}

// pipeline hashes in a second goroutine, which ends before it returns.
func (c *copier) pipeline() error {
	if c.hash == nil {
		buf := largeBuffers.Get().(*[largeBuffer]byte)
		defer largeBuffers.Put(buf)
		return c.inline(buf[:])
	}
	full, free := make(chan []byte, inPipe), make(chan []byte, inPipe)
	for range inPipe {
		buf := largeBuffers.Get().(*[largeBuffer]byte)
		defer largeBuffers.Put(buf)
		free <- buf[:]
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for b := range full {
			c.hash.Write(b)
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
		if err != nil {
			return err
		}
		full <- buf[:n]
		if end {
			return nil
		}
	}
}
