package fetch

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"srpump/post"
)

// Same reports whether the announced file is here already: a regular file of
// the announced size whose bytes have the announced sum. A sum that cannot be
// computed from bytes is replaced by the modification time, which must be
// equal to the microsecond; sum 0 is never the same. A block of a file is
// never the same: its sum says nothing of the rest. ctx ends the reading, with its error.
func Same(ctx context.Context, t *Tree, rel string, a *post.Announcement) (bool, error) {
	if a.Sum.Method == post.SumNone || a.Sum.Method == "" || !a.HasBlock() || a.Block.Count != 1 {
		return false, nil
	}
	d, name, err := t.locate(rel, false)
	if err != nil {
		return false, nil // where the file cannot be reached it is not
	}
	defer d.release()
	var st unix.Stat_t
	err = unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size != a.Size() {
		return false, nil
	}
	if !a.Sum.Verifiable() {
		mtime := a.Mtime()
		here := time.Unix(st.Mtim.Unix()).Truncate(time.Microsecond)
		return !mtime.IsZero() && mtime.Time().Truncate(time.Microsecond).Equal(here), nil
	}
	return sameBytes(ctx, t, d, name, rel, a)
}

func sameBytes(ctx context.Context, t *Tree, d *openDir, name, rel string, a *post.Announcement) (bool, error) {
	fd, err := openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, t.failed("read", rel, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	buf := smallBuffers.Get().(*[smallBuffer]byte)
	defer smallBuffers.Put(buf)
	sum, n, err := post.OfReader(a.Sum.Method, cancelReader{f, ctx}, buf[:])
	if err != nil {
		return false, t.failed("read", rel, err)
	}
	return n == a.Size() && sum.Equal(a.Sum), nil
}
