package fetch

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"srpump/post"
)

// Same reports whether the announced file is here already: a regular file of
// the announced size whose bytes have the announced sum. With kept, a sum in its extended
// attributes that is of its bytes is taken, and the file not read. A sum that cannot be
// computed from bytes is replaced by the modification time, which must be
// equal to the microsecond; sum 0 is never the same. A block of a file is
// never the same: its sum says nothing of the rest. ctx ends the reading, with its error.
func Same(ctx context.Context, t *Tree, rel string, a *post.Announcement, kept bool) (bool, error) {
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
	if a.Sum.Verifiable() || kept && a.Sum.Method == post.SumGiven {
		if same, known, err := sameSum(ctx, t, d, name, rel, a, kept); known || err != nil {
			return same, err
		}
	}
	mtime := a.Mtime()
	here := time.Unix(st.Mtim.Unix()).Truncate(time.Microsecond)
	return !mtime.IsZero() && mtime.Time().Truncate(time.Microsecond).Equal(here), nil
}

// sameSum compares sums: that which the file keeps, else that of its bytes. It is not known where neither
// can be had.
func sameSum(ctx context.Context, t *Tree, d *openDir, name, rel string, a *post.Announcement, kept bool) (same, known bool, err error) {
	fd, err := openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, false, t.failed("read", rel, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if info, err := f.Stat(); kept && err == nil && info.Size() == a.Size() {
		if sum, ok := post.KeptSum(f, info, a.Sum.Method); ok {
			return sum.Equal(a.Sum), true, nil
		}
	}
	if !a.Sum.Verifiable() {
		return false, false, nil
	}
	buf := smallBuffers.Get().(*[smallBuffer]byte)
	defer smallBuffers.Put(buf)
	sum, n, err := post.OfReader(a.Sum.Method, cancelReader{f, ctx}, buf[:])
	if err != nil {
		return false, false, t.failed("read", rel, err)
	}
	return n == a.Size() && sum.Equal(a.Sum), true, nil
}
