package fetch

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"srpump/post"
	"srpump/pump/transfer"
)

// fromFile gives the staged file the bytes of a file of this host: a second
// name for it when asked, else shared blocks (a reflink) where the filesystem
// has them, else a copy. What is hashed is what was staged.
func (j *Job) fromFile(ctx context.Context, s *Staged, body *transfer.Body, method string) (linked bool, err error) {
	whole := j.Request.Offset == 0 && j.Request.Length < 0
	shared := false
	if whole && j.HardLink {
		shared, err = s.replaceByLink(body.File)
		linked = shared
	}
	if err == nil && whole && !shared {
		shared = unix.IoctlFileClone(int(s.f.Fd()), int(body.File.Fd())) == nil
	}
	switch {
	case err != nil:
		return false, s.tree.failed("link", s.rel, err)
	case shared:
		s.Size, s.Sum, err = j.hashStaged(ctx, s.f, method)
	case method == "" && j.Pace == nil:
		s.Size, err = j.copyFile(ctx, s.f, body.File, body.Size)
		err = s.tree.failed("write", s.rel, err)
	default:
		s.Size, s.Sum, err = j.copyBody(s, body.Size, j.Pace.Reader(ctx, body), method)
	}
	return linked, err
}

// copyFile copies n bytes without bringing them into this process, see
// copy_file_range(2), in portions between which it can be cancelled.
func (j *Job) copyFile(ctx context.Context, to, from *os.File, n int64) (done int64, err error) {
	const portion = 64 << 20
	for done < n {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		m, err := io.CopyN(to, from, min(portion, n-done))
		done += m
		if j.Here != nil {
			j.Here.Store(done)
		}
		if err == io.EOF {
			return done, fmt.Errorf("%d bytes short: %w", n-done, io.ErrUnexpectedEOF)
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// cancelReader ends with its context.
type cancelReader struct {
	io.Reader
	ctx context.Context
}

func (c cancelReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(p)
}

// hashStaged computes the sum of a file that was not copied byte by byte.
func (j *Job) hashStaged(ctx context.Context, f *os.File, method string) (int64, post.Fingerprint, error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, post.Fingerprint{}, j.Tree.failed("read", j.Path, err)
	}
	if err := j.tooBig(fi.Size()); err != nil || method == "" {
		return fi.Size(), post.Fingerprint{}, err
	}
	buf := largeBuffers.Get().(*[largeBuffer]byte)
	defer largeBuffers.Put(buf)
	sum, n, err := post.OfReader(method, cancelReader{io.NewSectionReader(f, 0, fi.Size()), ctx}, buf[:])
	return n, sum, j.Tree.failed("read", j.Path, err)
}

// replaceByLink makes the temporary name a second name of src. It reports
// false where that cannot be: another filesystem, or a file not ours to link.
func (s *Staged) replaceByLink(src *os.File) (bool, error) {
	if err := unix.Unlinkat(s.tempDir.fd, s.temp, 0); err != nil {
		return false, err
	}
	err := unix.Linkat(unix.AT_FDCWD, fdPath(src), s.tempDir.fd, s.temp, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return false, s.recreate()
	}
	f, err := s.openTemp(unix.O_RDONLY)
	if err != nil {
		return false, err
	}
	s.f.Close()
	s.f = f
	return true, nil
}

// recreate makes the temporary file again after its name was given up.
func (s *Staged) recreate() error {
	fi, err := s.f.Stat()
	if err != nil {
		return err
	}
	f, err := create(s.tempDir, s.temp, fi.Mode())
	if err != nil {
		return err
	}
	s.f.Close()
	s.f = f
	return nil
}

func (s *Staged) openTemp(flags int) (*os.File, error) {
	fd, err := openat(s.tempDir.fd, s.temp, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), s.temp), nil
}
