package send

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"srpump/post"
	"srpump/pump/transfer"
)

// A File is one file to deliver.
type File struct {
	Source  transfer.Getter
	Request transfer.Request
	URL     string // of its final name

	Size int64 // announced, in bytes; below zero: not known
	Sum  post.Fingerprint

	Mode    fs.FileMode // permission bits; 0 leaves it to the server
	ModTime time.Time   // zero leaves it to the server

	// Is, where set, tells whether a source of this host is the file that is meant, when it is opened.
	Is func(os.FileInfo) bool

	// Again says that an earlier try may have left something under the temporary name, perhaps in
	// the hands of a server that has not noticed yet that we are gone: it is removed first, so that what
	// such a server still writes goes nowhere.
	Again bool

	// Paced, where set, is what holds back the bytes.
	Paced func(context.Context, io.Reader) io.Reader
	Moved *atomic.Int64 // where set, counts the bytes as they go
	There *atomic.Int64 // where set, how many bytes of the file have gone
}

// A Sent is what the server has.
type Sent struct {
	Size int64
	Sum  post.Fingerprint // computed; zero when none was needed
	// Validator is of the source whose bytes these are.
	transfer.Validator
	// Unset is why the server does not set what File asks for, the first time it refuses; the file
	// is there all the same.
	Unset error
}

// private is the mode a file is made with that not everybody may read: it is to be so from its first byte on. What
// others may read anyway gets its mode when it is complete.
func (f *File) private() fs.FileMode {
	const others, owner = 0o044, 0o200
	if f.Mode == 0 || f.Mode&others == others {
		return 0
	}
	return f.Mode.Perm() | owner
}

// errNotAnnounced is a source that is not what was announced.
var errNotAnnounced = errors.New("it is not the file that was announced")

// errChanging is a source that was written to while it was read.
var errChanging = errors.New("it changed while it was sent")

// changed is the failure of a source that is another than announced; it may be announced anew.
func (f *File) changed(cause error) error {
	return transfer.Fail("get", f.Request.URL, transfer.Changed, cause)
}

// A source is a file on its way, and what is found out about it as it goes.
type source struct {
	*transfer.Body
	before os.FileInfo // of a file of this host
	r      *verifier
}

// open opens the source of f and refuses one that has not the size announced.
func (f *File) open(ctx context.Context) (*source, error) {
	body, err := f.Source.Get(ctx, f.Request)
	if err != nil {
		return nil, err
	}
	s := &source{Body: body}
	if f.Size >= 0 && body.Size >= 0 && body.Size != f.Size {
		err = f.changed(fmt.Errorf("%w: it has %d bytes, not %d", errNotAnnounced, body.Size, f.Size))
	}
	if err == nil && body.File != nil {
		if s.before, err = body.File.Stat(); err != nil {
			err = transfer.Fail("get", f.Request.URL, transfer.Temporary, err)
		} else if f.Is != nil && !f.Is(s.before) {
			err = f.changed(errNotAnnounced)
		}
	}
	if err != nil {
		body.Close()
		return nil, err
	}
	var from io.Reader = body
	if f.Paced != nil {
		from = f.Paced(ctx, body)
	}
	s.r = newVerifier(from, f.method(), f.Moved, f.There)
	return s, nil
}

// method is the checksum to compute, or "" when nobody would look at it.
func (f *File) method() string {
	if f.Sum.Verifiable() || f.Sum.Method == post.SumLater || f.Sum.Method == "" {
		return f.Sum.HashMethod()
	}
	return ""
}

// expected is how many bytes the source is to give, or below zero.
func (s *source) expected(f *File) int64 {
	if s.Size >= 0 {
		return s.Size
	}
	return f.Size
}

// verify fails unless what was read is what was announced, and is still there.
func (s *source) verify(f *File) (post.Fingerprint, error) {
	sum := s.r.sum()
	switch {
	case f.Size >= 0 && s.r.n != f.Size:
		return sum, f.changed(fmt.Errorf("%w: it gave %d bytes, not %d", errNotAnnounced, s.r.n, f.Size))
	case f.Sum.Verifiable() && !sum.Equal(f.Sum):
		return sum, f.changed(fmt.Errorf("%w: its checksum is %s, not %s", errNotAnnounced, sum, f.Sum))
	}
	if s.before == nil {
		return sum, nil
	}
	now, err := s.File.Stat()
	if err != nil {
		return sum, transfer.Fail("get", f.Request.URL, transfer.Temporary, err)
	}
	if now.Size() != s.before.Size() || !now.ModTime().Equal(s.before.ModTime()) {
		return sum, f.changed(errChanging)
	}
	return sum, nil
}
