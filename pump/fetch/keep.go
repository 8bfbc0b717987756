package fetch

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"srpump/post"
)

// An Old is the older copy of a file that comes in blocks.
type Old struct {
	f    *os.File
	seen fs.FileInfo
	kept atomic.Int64 // blocks taken from it
}

// OpenOld opens the file that stands where j is to go, or returns nil where there is none.
func OpenOld(j Job) *Old {
	f, err := j.Tree.Open(j.Path)
	if err != nil {
		return nil
	}
	seen, err := f.Stat()
	if err != nil {
		f.Close()
		return nil
	}
	return &Old{f: f, seen: seen}
}

// Close closes the copy; that of nil does nothing.
func (o *Old) Close() {
	if o != nil {
		o.f.Close()
	}
}

// Is reports whether the copy is what all blocks of a file of size bytes were taken from, so many, and stands
// unchanged where j is to go: the file is here then. That of nil is none.
func (o *Old) Is(j Job, blocks, size int64) bool {
	if o == nil || o.kept.Load() != blocks || o.seen.Size() != size {
		return false
	}
	now, err := j.Tree.root.Lstat(j.Path)
	return err == nil && os.SameFile(o.seen, now) && unchanged(o.seen, now)
}

// Keep takes n bytes at an offset from an older copy of the file where they have the sum, and reports
// whether it did: they need not be fetched then. They are shared with the copy where the filesystem can, see
// ioctl_ficlonerange(2). A sum that is no checksum of bytes never matches, nor does a copy that
// was changed since it was opened.
func (p *Sparse) Keep(ctx context.Context, old *Old, sum post.Fingerprint, at, n int64) (bool, error) {
	if old == nil || !sum.Verifiable() || n <= 0 || old.seen.Size()-at < n {
		return false, nil
	}
	buf := largeBuffers.Get().(*[largeBuffer]byte)
	defer largeBuffers.Put(buf)
	here, m, err := post.OfReader(sum.Method, cancelReader{io.NewSectionReader(old.f, at, n), ctx}, buf[:])
	if err != nil || m != n || !here.Equal(sum) {
		return false, err
	}
	if err := p.copyRange(ctx, old.f, at, n); err != nil {
		return false, p.s.tree.failed("write", p.s.rel, err)
	}
	now, err := old.f.Stat()
	if err != nil || !unchanged(old.seen, now) {
		return false, err
	}
	old.kept.Add(1)
	return true, nil
}

// unchanged compares what every change of contents changes.
func unchanged(a, b fs.FileInfo) bool {
	x, y := a.Sys().(*syscall.Stat_t), b.Sys().(*syscall.Stat_t)
	return x.Size == y.Size && x.Mtim == y.Mtim && x.Ctim == y.Ctim
}

// copyRange gives the file n bytes of another at the same offset.
func (p *Sparse) copyRange(ctx context.Context, from *os.File, at, n int64) error {
	to := int(p.s.f.Fd())
	clone := unix.FileCloneRange{Src_fd: int64(from.Fd()), Src_offset: uint64(at), Src_length: uint64(n), Dest_offset: uint64(at)}
	if unix.IoctlFileCloneRange(to, &clone) == nil {
		return nil
	}
	const portion = 16 << 20
	for done := int64(0); done < n; {
		if err := ctx.Err(); err != nil {
			return err
		}
		in, out := at+done, at+done
		m, err := unix.CopyFileRange(int(from.Fd()), &in, to, &out, int(min(portion, n-done)), 0)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || m == 0 {
			return p.copyBytes(ctx, from, at+done, n-done, err)
		}
		done += int64(m)
	}
	return nil
}

// copyBytes is for filesystems between which the kernel does not copy.
func (p *Sparse) copyBytes(ctx context.Context, from *os.File, at, n int64, why error) error {
	if why != nil && !errors.Is(why, syscall.EXDEV) && !errors.Is(why, syscall.EINVAL) && !errors.Is(why, syscall.ENOSYS) && !errors.Is(why, syscall.EOPNOTSUPP) {
		return why
	}
	buf := largeBuffers.Get().(*[largeBuffer]byte)
	defer largeBuffers.Put(buf)
	m, err := io.CopyBuffer(struct{ io.Writer }{io.NewOffsetWriter(p.s.f, at)}, cancelReader{io.NewSectionReader(from, at, n), ctx}, buf[:])
	if err == nil && m < n {
		err = io.ErrUnexpectedEOF
	}
	return err
}
