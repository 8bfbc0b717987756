package sftp

import (
	"context"
	"io/fs"
	"path"
	"strings"

	"srpump/pump/transfer"
)

// List implements transfer.Lister. Of a name with slashes in it, which no honest server gives, the
// library leaves the last part.
func (s *SFTP) List(ctx context.Context, url string, yield func(transfer.Entry) error) error {
	var found []fs.FileInfo
	err := s.with(ctx, "list", url, true, func(l *link, path string) (err error) {
		found, err = do(ctx, l, func() ([]fs.FileInfo, error) { return l.files.ReadDirContext(ctx, path) }, nil)
		return err
	})
	if err != nil {
		return err
	}
	for _, fi := range found {
		if name := fi.Name(); name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
			continue
		}
		if err := yield(entry(fi)); err != nil {
			return err
		}
	}
	return nil
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
