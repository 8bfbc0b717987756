package send

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"srpump/pump/transfer"
)

// A shelf is a directory written to as a server is, which can be told to fail.
type shelf struct {
	dir string

	mu      sync.Mutex
	calls   []string
	modes   []fs.FileMode               // files were put with
	fail    func(op, path string) error // nil: nothing fails
	refuses transfer.Class              // of Set; 0: it sets everything
}

func (s *shelf) at(op, raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, op+" "+u.Path)
	if s.fail != nil {
		err = s.fail(op, u.Path)
	}
	return filepath.Join(s.dir, u.Path), err
}

func (s *shelf) failed(op, url string, err error) error {
	class := transfer.Temporary
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		class = transfer.NotFound
	case errors.Is(err, fs.ErrPermission):
		class = transfer.Forbidden
	case errors.Is(err, errors.ErrUnsupported):
		class = transfer.Unsupported
	}
	return transfer.Fail(op, url, class, err)
}

func (s *shelf) Put(ctx context.Context, p transfer.Put) (int64, error) {
	at, err := s.at("put", p.URL)
	if err != nil {
		return 0, s.failed("put", p.URL, err)
	}
	s.modes = append(s.modes, p.Mode)
	f, err := os.Create(at)
	if err != nil {
		return 0, s.failed("put", p.URL, err)
	}
	defer f.Close()
	n, err := io.Copy(f, p.From)
	if err == nil && p.Size >= 0 && n != p.Size {
		err = transfer.Fail("put", p.URL, transfer.Temporary, io.ErrUnexpectedEOF)
	}
	return n, err
}

func (s *shelf) Rename(ctx context.Context, from, to string) error {
	a, err := s.at("rename", from)
	if err == nil {
		var b string
		if b, err = s.at("to", to); err == nil {
			err = os.Rename(a, b)
		}
	}
	return s.failed("rename", from, err)
}

func (s *shelf) Remove(ctx context.Context, url string) error {
	at, err := s.at("remove", url)
	if err == nil {
		err = os.Remove(at)
	}
	return s.failed("remove", url, err)
}

func (s *shelf) Mkdir(ctx context.Context, url string, mode fs.FileMode) error {
	at, err := s.at("mkdir", url)
	if err == nil {
		err = os.MkdirAll(at, mode)
	}
	return s.failed("mkdir", url, err)
}

func (s *shelf) Set(ctx context.Context, url string, a transfer.Attributes) error {
	at, err := s.at("set", url)
	switch {
	case s.refuses != 0 && (a.Mode != 0 || s.refuses == transfer.Forbidden):
		return transfer.Fail("set", url, s.refuses, syscall.EPERM)
	case err == nil && a.Mode != 0:
		err = os.Chmod(at, a.Mode)
	}
	if err == nil && !a.ModTime.IsZero() {
		err = os.Chtimes(at, a.ModTime, a.ModTime)
	}
	return s.failed("set", url, err)
}

func (s *shelf) List(context.Context, string, func(transfer.Entry) error) error {
	return errors.ErrUnsupported
}

func (s *shelf) Stat(ctx context.Context, url string) (transfer.Entry, error) {
	at, err := s.at("stat", url)
	if err != nil {
		return transfer.Entry{}, s.failed("stat", url, err)
	}
	info, err := os.Lstat(at)
	if err != nil {
		return transfer.Entry{}, s.failed("stat", url, err)
	}
	return transfer.Entry{Name: info.Name(), Size: info.Size(), ModTime: info.ModTime(), Mode: info.Mode()}, nil
}

func (s *shelf) Symlink(ctx context.Context, target, url string) error {
	at, err := s.at("symlink", url)
	if err == nil {
		err = os.Symlink(target, at)
	}
	return s.failed("put", url, err)
}
