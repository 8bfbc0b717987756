package send

import (
	"context"
	"errors"
	"net/url"
	"path"
	"strings"

	"srpump/pump/transfer"
)

// errNoName is a URL that names no file.
var errNoName = errors.New("it names no file")

// A target is a final name and the temporary one, as URLs.
type target struct {
	dir, url         string
	tempDir, tempURL string
}

// target finds the names of a file at a URL.
func (s *Sender) target(raw string) (t target, err error) {
	u, err := url.Parse(raw)
	if err != nil {
		return t, transfer.Fail("put", raw, transfer.Refused, errors.New("it is no URL"))
	}
	dir, name := path.Split(u.Path)
	absolute := strings.HasPrefix(u.Path, "//") // and not below the directory a login begins in
	at := func(p string) string {
		if p = path.Join("/", p); absolute {
			p = "/" + p
		}
		return at(u, p)
	}
	if name == "" || name == "." || name == ".." {
		return t, transfer.Fail("put", raw, transfer.Refused, errNoName)
	}
	sub, temp := s.o.Temporary(name)
	return target{dir: at(dir), url: raw, tempDir: at(path.Join(dir, sub)), tempURL: at(path.Join(dir, sub, temp))}, nil
}

// at is the URL of another path of the same place.
func at(u *url.URL, path string) string {
	v := *u
	v.Path, v.RawPath, v.RawQuery, v.Fragment = path, "", "", ""
	return v.String()
}

// Mkdir makes a directory and those above it, unless it is known to be there. It is done one at a time: to
// servers that cannot tell, a directory another connection has just made looks like one that may not be made.
func (s *Sender) Mkdir(ctx context.Context, raw string) error {
	if u, err := url.Parse(raw); err != nil || path.Clean("/"+u.Path) == "/" || s.dirs.has(raw) {
		return nil // of what is no URL, the next step says so
	}
	select {
	case s.making <- struct{}{}:
		defer func() { <-s.making }()
	case <-ctx.Done():
		return transfer.Fail("mkdir", raw, transfer.Cancelled, ctx.Err())
	}
	if s.dirs.has(raw) {
		return nil
	}
	if err := s.to.Mkdir(ctx, raw, s.o.DirMode); err != nil {
		return err
	}
	s.dirs.add(raw)
	return nil
}

// Remove removes a file, link or empty directory; that there is none is no failure.
func (s *Sender) Remove(ctx context.Context, raw string) error {
	s.dirs.drop(raw)
	if err := s.to.Remove(ctx, raw); err != nil && transfer.ClassOf(err) != transfer.NotFound {
		return err
	}
	return nil
}
