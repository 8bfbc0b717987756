package sftp

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/crypto/ssh"

	"srpump/pump/transfer"
)

// List implements transfer.Lister: what is held of a directory is a piece of it, however long it is. Names with
// slashes in them, which no honest server gives, are left out.
func (s *SFTP) List(ctx context.Context, url string, yield func(transfer.Entry) error) error {
	var given bool
	var before, stop error
	err := s.with(ctx, "list", url, true, func(l *link, path string) error {
		if given { // on a new link it would be given twice
			return before
		}
		before = l.list(ctx, path, func(e transfer.Entry) error {
			given = true
			stop = yield(e)
			return stop
		})
		return before
	})
	if stop != nil {
		return stop
	}
	return err
}

// list reads a directory by a lister that is free, or a new one.
func (l *link) list(ctx context.Context, dir string, yield func(transfer.Entry) error) error {
	var s *lister
	var err error
	select {
	case s = <-l.listers:
	default:
		s, err = do(ctx, l, l.newLister, func(late *lister) { late.session.Close() })
	}
	var refused *ssh.OpenChannelError
	if errors.As(err, &refused) {
		return l.listWhole(ctx, dir, yield)
	}
	if err != nil {
		return err
	}
	handle, err := do(ctx, l, func() (string, error) { return s.open(dir) }, nil)
	opened := err == nil
	for err == nil {
		var piece []transfer.Entry
		piece, err = do(ctx, l, func() ([]transfer.Entry, error) { return s.next(handle) }, nil)
		for i := 0; i < len(piece) && err == nil; i++ {
			if isName(piece[i].Name) {
				err = yield(piece[i])
			}
		}
	}
	if err == errOver && opened {
		err = act(ctx, l, func() error { return s.end(handle) })
	}
	l.spare(s, err)
	return err
}

// listWhole is for servers that let a connection have one session only: the whole directory is held.
func (l *link) listWhole(ctx context.Context, dir string, yield func(transfer.Entry) error) error {
	found, err := do(ctx, l, func() ([]fs.FileInfo, error) { return l.files.ReadDirContext(ctx, dir) }, nil)
	for i := 0; i < len(found) && err == nil; i++ {
		if isName(found[i].Name()) {
			err = yield(entry(found[i]))
		}
	}
	return err
}

// spare keeps a lister for the next directory, or ends one that may be in the midst of something.
func (l *link) spare(s *lister, err error) {
	if err == nil {
		select {
		case l.listers <- s:
			return
		default:
		}
	}
	s.session.Close()
}

// isName reports whether a server may call a thing in a directory so: what leads elsewhere is none.
func isName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\x00")
}

func entry(fi fs.FileInfo) transfer.Entry {
	return transfer.Entry{Name: fi.Name(), Size: fi.Size(), ModTime: modTime(fi), Mode: fi.Mode()}
}

// Stat implements transfer.Lister.
func (s *SFTP) Stat(ctx context.Context, url string) (e transfer.Entry, err error) {
	err = s.with(ctx, "stat", url, true, func(l *link, at string) error {
		fi, err := do(ctx, l, func() (fs.FileInfo, error) { return l.files.Lstat(at) }, nil)
		if err != nil {
			return err
		}
		e = entry(fi)
		e.Name = path.Base(at)
		if e.Mode&fs.ModeSymlink != 0 { // a server that does not say where to leaves it empty
			e.Target, _ = do(ctx, l, func() (string, error) { return l.files.ReadLink(at) }, nil)
		}
		return nil
	})
	return e, err
}
