package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// FileOptions are what an operator decides about files of this host.
type FileOptions struct {
	// BaseDir, when set, is the directory no source may leave, not even
	// through a symbolic link.
	BaseDir string
}

// File gets files of this host. Only regular files are read: a pipe or a
// device would hang the reader or never end.
type File struct {
	base string
	root func() (*os.Root, error)
}

// NewFile makes the Getter; BaseDir is opened at the first Get.
func NewFile(o FileOptions) *File {
	f := &File{base: o.BaseDir}
	if o.BaseDir != "" {
		f.base = filepath.Clean(o.BaseDir)
		f.root = sync.OnceValues(func() (*os.Root, error) { return os.OpenRoot(f.base) })
	}
	return f
}

// FileURL is the URL of an absolute path of this host.
func FileURL(path string) string { return "file://" + (&url.URL{Path: path}).EscapedPath() }

// Get implements Getter.
func (f *File) Get(ctx context.Context, r Request) (*Body, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	path, err := filePath(r.URL)
	if err != nil {
		return nil, fail(r.URL, Refused, err)
	}
	file, err := f.open(path)
	if err != nil {
		return nil, fail(r.URL, fileClass(err), plain(err))
	}
	body, err := fileBody(ctx, file, r)
	if err != nil {
		file.Close()
		return nil, err
	}
	return body, nil
}

// Close implements Getter.
func (f *File) Close() error {
	if f.root == nil {
		return nil
	}
	root, err := f.root()
	if err != nil {
		return nil // it was never opened
	}
	return root.Close()
}

func filePath(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") {
		return "", errors.New("it is no URL of a file of this host")
	}
	return filepath.Clean(u.Path), nil
}

func (f *File) open(path string) (*os.File, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	if f.root == nil {
		return os.OpenFile(path, flags, 0)
	}
	rel, err := filepath.Rel(f.base, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return nil, fmt.Errorf("it is not below %q", f.base)
	}
	root, err := f.root()
	if err != nil {
		return nil, err
	}
	return root.OpenFile(rel, flags, 0)
}

// fileClass sorts what open may fail with.
func fileClass(err error) Class {
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return NotFound
	case errors.Is(err, fs.ErrPermission):
		return Forbidden
	case errors.As(err, &errno) && errno != syscall.ENXIO && errno != syscall.ELOOP && errno != syscall.ENAMETOOLONG:
		return Temporary
	}
	return Refused
}

// plain takes the path off an error whose text will name the URL.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func fileBody(ctx context.Context, file *os.File, r Request) (*Body, error) {
	fi, err := file.Stat()
	if err != nil {
		return nil, fail(r.URL, Temporary, plain(err))
	}
	if !fi.Mode().IsRegular() {
		return nil, fail(r.URL, Refused, errors.New("it is not a regular file"))
	}
	v := Validator{ModTime: fi.ModTime()}
	if r.IfUnchanged.Differs(v) {
		return nil, fail(r.URL, Changed, errors.New("the source has changed"))
	}
	size := r.Length
	if size < 0 {
		size = fi.Size() - r.Offset
	}
	if size < 0 || r.Offset+size > fi.Size() {
		return nil, fail(r.URL, Range, fmt.Errorf("it holds %d bytes only", fi.Size()))
	}
	if _, err := file.Seek(r.Offset, io.SeekStart); err != nil {
		return nil, fail(r.URL, Temporary, plain(err))
	}
	b := &fileReader{ctx: ctx, file: file, url: r.URL, left: size}
	return &Body{ReadCloser: b, Size: size, Validator: v, File: file}, nil
}

// fileReader gives the bytes the file held when it was opened, and no more: it may be growing.
type fileReader struct {
	ctx  context.Context
	file *os.File
	url  string
	left int64
}

func (b *fileReader) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, fail(b.url, Cancelled, err)
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	n, err := b.file.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	switch {
	case err == io.EOF:
		return n, fail(b.url, Temporary, fmt.Errorf("%d bytes short: %w", b.left, io.ErrUnexpectedEOF))
	case err != nil:
		return n, fail(b.url, Temporary, plain(err))
	}
	return n, nil
}

func (b *fileReader) Close() error { return b.file.Close() }
