package sftp

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/pkg/sftp"

	"srpump/pump/transfer"
)

// Get implements transfer.Getter. The validator is made of size and time, of which SFTP tells seconds.
func (s *SFTP) Get(ctx context.Context, r transfer.Request) (body *transfer.Body, err error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	err = s.with(ctx, "get", r.URL, true, func(l *link, path string) error {
		file, fi, first, err := l.open(ctx, path, !r.Partial())
		if err != nil {
			return err
		}
		v, size, err := judge(r, fi)
		if err != nil {
			l.leave(file)
			return err
		}
		s.pool.hold(l)
		from := &reader{
			ctx: ctx, pool: s.pool, link: l, file: file, url: r.URL, next: r.Offset, end: r.Offset + size,
			packet: l.packet(), window: firstWindow,
		}
		if first != nil && int64(len(first.buf)) == size {
			from.asked, from.next = []*answer{first}, from.end
		}
		body = &transfer.Body{Size: size, Validator: v, ReadCloser: from}
		return nil
	})
	return body, err
}

// open opens a regular file. What it is has to be known first, since a server would wait for the
// writer of a pipe, with all its clients; and again afterwards, since files are renamed over. Of a
// small file all is asked for meanwhile, when whole is wanted: it saves one round trip of four.
func (l *link) open(ctx context.Context, path string, whole bool) (file *sftp.File, fi fs.FileInfo, first *answer, err error) {
	fi, err = do(ctx, l, func() (fs.FileInfo, error) { return l.files.Stat(path) }, nil)
	if err == nil && !fi.Mode().IsRegular() {
		err = errIrregular
	}
	if err != nil {
		return nil, nil, nil, err
	}
	file, err = do(ctx, l, func() (*sftp.File, error) { return l.files.Open(path) }, l.leave)
	if err != nil {
		return nil, nil, nil, err
	}
	if n := fi.Size(); whole && n > 0 && n <= smallPacket {
		first = newAnswer(int(n))
		l.owed.Add(1)
		go first.fetch(l, file, 0)
	}
	fi, err = do(ctx, l, file.Stat, nil)
	if err == nil && !fi.Mode().IsRegular() {
		err = errIrregular
	}
	if err != nil {
		l.leave(file)
		return nil, nil, nil, err
	}
	return file, fi, first, nil
}

// leave closes a file and waits for no answer.
func (l *link) leave(file *sftp.File) {
	l.owed.Add(1)
	go func() {
		_ = file.Close() // nothing was written
		l.owed.Add(-1)
	}()
}

// judge is how many bytes the answer has, or why there is none.
func judge(r transfer.Request, fi fs.FileInfo) (v transfer.Validator, size int64, err error) {
	v = validator(fi)
	if r.IfUnchanged.Differs(v) {
		return v, 0, errChanged
	}
	size = r.Length
	if size < 0 {
		size = fi.Size() - r.Offset
	}
	if size < 0 || r.Offset+size > fi.Size() {
		return v, 0, transfer.Fail("get", r.URL, transfer.Range, fmt.Errorf("it holds %d bytes only", fi.Size()))
	}
	return v, size, nil
}

func validator(fi fs.FileInfo) transfer.Validator {
	t := modTime(fi)
	return transfer.Validator{ETag: fmt.Sprintf(`"%x-%x"`, t.Unix(), fi.Size()), ModTime: t}
}

// modTime is zero where the server does not say.
func modTime(fi fs.FileInfo) time.Time {
	if t := fi.ModTime(); t.Unix() != 0 {
		return t
	}
	return time.Time{}
}
