package fetch

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// errUnstaged is what stands where a staged file was.
var errUnstaged = errors.New("it is no regular file any more")

// Reread takes over what a program made of the file at TempPath, changed or replaced: Size and Sum are
// those of what is there now, which is given the attributes of j again. The file must have been
// staged with Named.
func (s *Staged) Reread(ctx context.Context, j Job) error {
	f, err := s.openTemp(unix.O_RDWR)
	if err != nil {
		return s.tree.failed("read", s.rel, err)
	}
	s.f.Close()
	s.f = f
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return s.tree.failed("read", s.rel, errors.Join(errUnstaged, err))
	}
	if !lock(s.tempDir, int(f.Fd()), s.temp) {
		return s.tree.failed("read", s.rel, errBusy)
	}
	j.Size, j.MaxSize, j.Tree, j.Path = -1, 0, s.tree, s.rel
	if s.Size, s.Sum, err = j.hashStaged(ctx, f, j.method()); err != nil {
		return err
	}
	return j.finish(s)
}
