package send

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"srpump/pump/transfer"
)

// A linker makes symbolic links, replacing none.
type linker interface {
	Symlink(ctx context.Context, target, url string) error
}

// errNoLinks is a scheme without symbolic links.
var errNoLinks = errors.New("links cannot be made there")

// Link makes a symbolic link, in place of what has the name; class Unsupported where there are none.
func (s *Sender) Link(ctx context.Context, text, raw string) error {
	l, ok := s.to.(linker)
	if !ok {
		return transfer.Fail("put", raw, transfer.Unsupported, errNoLinks)
	}
	t, err := s.target(raw)
	if err != nil {
		return err
	}
	for _, dir := range []string{t.dir, t.tempDir} {
		if err := s.Mkdir(ctx, dir); err != nil {
			return err
		}
	}
	_ = s.to.Remove(ctx, t.tempURL) // of a try that was killed; whatever else is wrong, the next step says
	err = l.Symlink(ctx, text, t.tempURL)
	if err == nil {
		err = s.to.Rename(ctx, t.tempURL, t.url)
	}
	if err != nil {
		s.dirs.forget()
		s.discard(ctx, t.tempURL)
	}
	return err
}

// Move gives what bears one name another one that is free, and reports whether it did: not where the
// old name is not there, the new one is taken, or the place cannot be looked at.
func (s *Sender) Move(ctx context.Context, from, to string) (moved bool, err error) {
	if s.look == nil {
		return false, nil
	}
	if _, err := s.look.Stat(ctx, from); err != nil {
		return false, unlessAbsent(err)
	}
	if _, err := s.look.Stat(ctx, to); err == nil || transfer.ClassOf(err) != transfer.NotFound {
		return false, unlessAbsent(err)
	}
	t, err := s.target(to)
	if err != nil {
		return false, err
	}
	if err := s.Mkdir(ctx, t.dir); err != nil {
		return false, err
	}
	s.dirs.forget() // what is moved may be one of them
	if err := s.to.Rename(ctx, from, to); err != nil {
		return false, unlessAbsent(err)
	}
	return true, nil
}

// unlessAbsent leaves out that something is not there, or that the server tells nobody.
func unlessAbsent(err error) error {
	if c := transfer.ClassOf(err); err != nil && (c == transfer.NotFound || c == transfer.Unsupported) {
		return nil
	}
	return err
}

// Has reports whether a file of that size and time is there, by what the server says of it; never where
// it says either of them roughly or not at all, or where size or time are not known.
func (s *Sender) Has(ctx context.Context, raw string, size int64, mtime time.Time) (bool, error) {
	if s.look == nil || size < 0 || mtime.IsZero() {
		return false, nil
	}
	e, err := s.look.Stat(ctx, raw)
	if err != nil {
		return false, unlessAbsent(err)
	}
	return e.Mode.Type() == fs.FileMode(0) && !e.Rough && e.Size == size &&
		e.ModTime.Truncate(time.Second).Equal(mtime.Truncate(time.Second)), nil
}
