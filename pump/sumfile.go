package pump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"srpump/partition"
	"srpump/post"
)

// readBuffers are for reading files that are announced; one is 256 KiB.
var readBuffers = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

// settleTries is how often a file that changes while it is read is read again.
const settleTries = 3

// A sumFile computes the fingerprints of one open file.
type sumFile struct {
	f    *os.File
	info fs.FileInfo
}

// openFile opens a regular file for reading, and nothing else: a pipe or device put
// in its place since it was listed must not be waited for.
func openFile(path string) (*sumFile, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &sumFile{f, info}, nil
}

func (s *sumFile) close() { s.f.Close() }

// errGone is a file that is not there to be opened.
var errGone = errors.New("the file is gone")

// opened calls fn with the file at path.
func opened(path string, fn func(*sumFile) (begun bool, err error)) (begun bool, err error) {
	s, err := openFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, errGone
	}
	if err != nil {
		return false, fmt.Errorf("cannot read: %w", err)
	}
	defer s.close()
	return fn(s)
}

// block is the fingerprint of one block of the file; ctx ends the reading.
func (s *sumFile) block(ctx context.Context, method string, b partition.Block) (post.Fingerprint, error) {
	buf := readBuffers.Get().(*[]byte)
	defer readBuffers.Put(buf)
	sum, n, err := post.OfReader(method, endingReader{ctx, io.NewSectionReader(s.f, b.Offset(), b.Length())}, *buf)
	if err == nil && n != b.Length() {
		err = fmt.Errorf("%w: %d bytes of %d", errChanged, n, b.Length())
	}
	return sum, err
}

// An endingReader ends with its context: a file may take hours to read.
type endingReader struct {
	ctx context.Context
	io.Reader
}

func (r endingReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// errChanged is a file that did not hold still.
var errChanged = errors.New("the file changed while it was read")

// unchanged looks again: the file must be what it was before it was read.
func (s *sumFile) unchanged() error {
	now, err := s.f.Stat()
	if err != nil {
		return err
	}
	if now.Size() != s.info.Size() || !now.ModTime().Equal(s.info.ModTime()) {
		return errChanged
	}
	return nil
}

// inPlace looks whether the file is unchanged and still what its path leads to.
func (s *sumFile) inPlace() error {
	if err := s.unchanged(); err != nil {
		return err
	}
	now, err := os.Lstat(s.f.Name())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: it was removed", errChanged)
	case err != nil:
		return err
	case !os.SameFile(now, s.info):
		return fmt.Errorf("%w: another took its place", errChanged)
	}
	return nil
}
