package sftp

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"path"

	"srpump/pump/transfer"
)

// Rename implements transfer.Writer: atomically where the server has posix-rename@openssh.com; else
// what has the new name is removed first, when it stands in the way.
func (s *SFTP) Rename(ctx context.Context, from, to string) error {
	there, target, err := s.locate(to)
	if err != nil {
		return transfer.Fail("rename", to, transfer.Refused, err)
	}
	return s.with(ctx, "rename", from, false, func(l *link, source string) error {
		if l.address != there {
			return transfer.Fail("rename", from, transfer.Unsupported, errors.New("the new name is on another server"))
		}
		return act(ctx, l, func() error { return l.rename(source, target) })
	})
}

func (l *link) rename(from, to string) error {
	if _, ok := l.files.HasExtension("posix-rename@openssh.com"); ok {
		return l.files.PosixRename(from, to)
	}
	err := l.files.Rename(from, to)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	if fi, serr := l.files.Lstat(to); serr != nil || fi.IsDir() {
		return err
	}
	if err := l.files.Remove(to); err != nil {
		return err
	}
	return l.files.Rename(from, to)
}

// Remove implements transfer.Writer.
func (s *SFTP) Remove(ctx context.Context, url string) error {
	return s.with(ctx, "remove", url, false, func(l *link, path string) error {
		return act(ctx, l, func() error { return l.files.Remove(path) })
	})
}

// Mkdir implements transfer.Writer.
func (s *SFTP) Mkdir(ctx context.Context, url string, mode fs.FileMode) error {
	return s.with(ctx, "mkdir", url, false, func(l *link, path string) error {
		return act(ctx, l, func() error { return l.mkdirAll(ctx, path, mode) })
	})
}

// mkdirAll tries the directory itself first: mostly it or its parent is there.
func (l *link) mkdirAll(ctx context.Context, dir string, mode fs.FileMode) error {
	err := l.mkdir(dir, mode)
	above := path.Dir(dir)
	if !errors.Is(err, fs.ErrNotExist) || above == dir {
		return err
	}
	if cancelled := ctx.Err(); cancelled != nil {
		return cancelled
	}
	if err := l.mkdirAll(ctx, above, mode); err != nil {
		return err
	}
	return l.mkdir(dir, mode)
}

// mkdir makes one directory, or finds it made.
func (l *link) mkdir(dir string, mode fs.FileMode) error {
	err := l.files.Mkdir(dir)
	if err == nil && mode != 0 {
		return l.files.Chmod(dir, mode.Perm())
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if fi, serr := l.files.Stat(dir); serr == nil && fi.IsDir() {
		return nil
	}
	return err
}

// Set implements transfer.Writer. The time of the last access becomes that of the change: SFTP
// carries both or none.
func (s *SFTP) Set(ctx context.Context, url string, a transfer.Attributes) error {
	if t := a.ModTime; !t.IsZero() && (t.Unix() < 0 || t.Unix() > math.MaxUint32) {
		return transfer.Fail("set", url, transfer.Unsupported, errors.New("SFTP has no such time"))
	}
	return s.with(ctx, "set", url, true, func(l *link, path string) error {
		return act(ctx, l, func() error {
			var err error
			if a.Mode != 0 {
				err = l.files.Chmod(path, a.Mode.Perm())
			}
			if err == nil && !a.ModTime.IsZero() {
				err = l.files.Chtimes(path, a.ModTime, a.ModTime)
			}
			return err
		})
	})
}

// Symlink makes a symbolic link that says target, and replaces nothing.
func (s *SFTP) Symlink(ctx context.Context, target, url string) error {
	return s.with(ctx, "put", url, false, func(l *link, path string) error {
		return act(ctx, l, func() error { return l.files.Symlink(target, path) })
	})
}
