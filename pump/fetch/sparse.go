package fetch

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"srpump/post"
)

// ErrLost is a temporary file that is not there any more, or is another one than it was.
var ErrLost = errors.New("its temporary file is gone")

// A FileID tells a file from another of the same name, after a restart too. The zero value is none.
type FileID struct {
	Inode uint64
	Born  int64 // in ns since 1970; 0 where the filesystem does not say
}

// A Sparse is a temporary file that is put together of blocks, each written at its place, in any
// order, by many goroutines at once. It is given to an Installer when all are there.
type Sparse struct {
	s    *Staged
	lost atomic.Pointer[error] // of the first sync that failed
}

// OpenSparse opens the temporary file of the destination of j: the one that was id, or with the zero
// FileID a new, empty one. Its name is none that Fetch makes. An error that wraps ErrLost says that what was
// id is gone.
func OpenSparse(j Job, id FileID) (*Sparse, error) {
	dir, name, err := j.Tree.locate(j.Path, true)
	if err != nil {
		return nil, j.Tree.failed("write", j.Path, err)
	}
	sub, temp := j.Inflight.sparse(name, j.Tag)
	s := &Staged{tree: j.Tree, rel: j.Path, dir: dir, name: name, tempDir: dir, temp: temp, named: true}
	if sub == "" {
		dir.refs.Add(1)
	} else if s.tempDir, _, err = j.Tree.locate(path.Join(dir.rel, sub, temp), true); err != nil {
		dir.release()
		return nil, j.Tree.failed("write", j.Path, err)
	}
	if id == (FileID{}) {
		s.f, err = create(s.tempDir, temp, j.createMode())
	} else {
		s.f, err = reopen(s.tempDir, temp, id)
	}
	if err != nil {
		s.close()
		return nil, j.Tree.failed("write", j.Path, err)
	}
	return &Sparse{s: s}, nil
}

// reopen opens and locks what create made.
func reopen(d *openDir, name string, id FileID) (*os.File, error) {
	fd, err := openat(d.fd, name, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == syscall.ENOENT || err == syscall.ELOOP {
		return nil, ErrLost
	}
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	now, err := idOf(fd, "")
	switch {
	case err != nil:
	case now != id:
		err = ErrLost
	case !lock(d, fd, name):
		err = errBusy
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// idOf identifies what is called name in the directory fd, or with no name fd itself.
func idOf(fd int, name string) (FileID, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if name == "" {
		flags = unix.AT_EMPTY_PATH
	}
	var st unix.Statx_t
	if err := unix.Statx(fd, name, flags, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return FileID{}, err
	}
	id := FileID{Inode: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		id.Born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return id, nil
}

// ID identifies the file called rel. Where nothing is, the error is one for which
// errors.Is(err, fs.ErrNotExist) holds.
func (t *Tree) ID(rel string) (FileID, error) {
	d, name, err := t.locate(rel, false)
	if err != nil {
		return FileID{}, err
	}
	defer d.release()
	return idOf(d.fd, name)
}

// ID identifies the temporary file; it keeps it when it is installed.
func (p *Sparse) ID() (FileID, error) { return idOf(int(p.s.f.Fd()), "") }

// SyncName makes the name of the file durable, and the directories it is in.
func (p *Sparse) SyncName() error {
	err := p.s.tree.syncMade()
	if err == nil {
		err = p.s.tempDir.f.Sync()
	}
	return p.s.tree.failed("write", p.s.rel, err)
}

// Sync makes the bytes written so far durable. Once it has failed it always does, until the file is opened again and
// written again: the kernel has forgotten bytes without saying which (fsync(2), EIO).
func (p *Sparse) Sync() error {
	if lost := p.lost.Load(); lost != nil {
		return *lost
	}
	err := p.s.tree.failed("write", p.s.rel, unix.Fdatasync(int(p.s.f.Fd())))
	if err != nil {
		p.lost.Store(&err)
	}
	return err
}

// TempPath is where the bytes are now, for hooks that look at them.
func (p *Sparse) TempPath() string { return p.s.TempPath() }

// Fetch gets the bytes that j.Request names, writes them at an offset, and tells their number and
// their sum, zero when none was needed. It fails as the function Fetch does; what is there then is
// of no use. match says that they are what j announces.
func (p *Sparse) Fetch(ctx context.Context, j Job, at int64) (n int64, sum post.Fingerprint, match bool, err error) {
	body, err := j.Source.Get(ctx, j.Request)
	if err != nil {
		return 0, sum, false, err
	}
	defer body.Close()
	if err := j.tooBig(body.Size); err != nil {
		return 0, sum, false, err
	}
	method := j.method()
	c := &copier{job: &j, to: io.NewOffsetWriter(p.s.f, at), from: j.Pace.Reader(ctx, body), hash: post.NewHash(method)}
	n, sum, err = c.copy(body.Size, method)
	return n, sum, err == nil && n == j.Size && (!j.Sum.Verifiable() || sum.Equal(j.Sum)), err
}

// Complete gives the file its length and the attributes of j, and returns it to be installed: p is
// used up. What could not be installed stays, to be opened again.
func (p *Sparse) Complete(j Job, size int64) (*Staged, error) {
	s := p.s
	s.Size, s.Match, s.stays = size, true, true
	err := s.f.Truncate(size)
	if err == nil {
		err = s.apply(j.attributes())
	}
	if err != nil {
		p.Close()
		return nil, s.tree.failed("write", s.rel, err)
	}
	return s, nil
}

// Close closes the file; what is written stays.
func (p *Sparse) Close() { p.s.close() }

// Discard removes the file.
func (p *Sparse) Discard() { p.s.Discard() }
