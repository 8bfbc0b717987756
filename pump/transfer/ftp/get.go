package ftp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"srpump/pump/transfer"
)

// Get implements transfer.Getter. A state is told from another by the time of change, in whole seconds.
func (f *FTP) Get(ctx context.Context, r transfer.Request) (*transfer.Body, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	s, err := f.begin(ctx, "get", r.URL)
	if err != nil {
		return nil, err
	}
	body, err := s.get(r)
	if err != nil {
		err = s.fail(err)
		s.end()
		return nil, err
	}
	return body, nil
}

func (s *session) get(r transfer.Request) (*transfer.Body, error) {
	size, now, err := s.look(s.path)
	if err != nil {
		return nil, err
	}
	v := transfer.Validator{ModTime: now}
	if r.IfUnchanged.Differs(v) {
		return nil, class(transfer.Changed, errors.New("the source has changed"))
	}
	left, err := s.span(r, size)
	if err != nil {
		return nil, err
	}
	if r.Length == 0 {
		s.end()
		return &transfer.Body{ReadCloser: io.NopCloser(strings.NewReader("")), Validator: v}, nil
	}
	conn, err := s.transferOf(r.Offset, "RETR %s", s.path)
	if err != nil {
		return nil, err
	}
	b := &body{s: s, from: conn, left: left, toEnd: size < 0 && r.Length < 0 || r.Offset+left == size}
	if s.ascii {
		b.from = &unixLines{from: conn}
	}
	return &transfer.Body{ReadCloser: b, Size: left, Validator: v}, nil
}

// span is how many bytes come, below zero when nobody knows.
func (s *session) span(r transfer.Request, size int64) (int64, error) {
	switch {
	case s.ascii && r.Partial():
		return 0, class(transfer.Range, errors.New("ascii mode gives no parts of files"))
	case size < 0:
		return r.Length, nil
	case r.Offset > size || r.Length > size-r.Offset:
		return 0, class(transfer.Range, fmt.Errorf("it holds %d bytes only", size))
	case r.Length < 0:
		return size - r.Offset, nil
	}
	return r.Length, nil
}

// look asks for size (below zero: unknown) and time (zero: unknown), RFC 3659. Servers may know neither, and what
// they say is not always a number.
func (s *session) look(path string) (size int64, at time.Time, err error) {
	size = -1
	if !s.ascii { // there SIZE counts other bytes
		code, text, err := s.command("SIZE %s", path)
		if s.broken {
			return 0, at, err
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); code == 213 && err == nil && n >= 0 {
			size = n
		}
	}
	code, text, err := s.command("MDTM %s", path)
	if s.broken {
		return 0, at, err
	}
	if code == 213 {
		at = parseTime(strings.TrimSpace(text))
	}
	return size, at, nil
}

// parseTime reads YYYYMMDDhhmmss[.fraction], in UTC; the zero time when it is none.
func parseTime(s string) time.Time {
	t, err := time.Parse("20060102150405", s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// body reads one file, or a part of one.
type body struct {
	s     *session
	from  io.Reader
	left  int64 // bytes still owed, below zero when unknown
	toEnd bool  // nothing may follow them
	over  error // how it ended; io.EOF when it is complete
}

// Read implements io.Reader. The end comes only after the server has said that it has sent all.
func (b *body) Read(p []byte) (int, error) {
	if b.over != nil || len(p) == 0 {
		return 0, b.over
	}
	if b.left == 0 {
		b.over = b.ending()
		return 0, b.over
	}
	if b.left > 0 {
		p = p[:min(int64(len(p)), b.left)]
	}
	n, err := b.from.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
	}
	if err != nil && (n == 0 || b.left != 0) {
		b.over = b.stopped(err)
	}
	return n, b.over
}

// stopped is a data connection that ended before the last byte owed.
func (b *body) stopped(err error) error {
	switch {
	case err == io.EOF && b.left < 0:
		return b.complete()
	case err == io.EOF:
		return b.short()
	}
	b.s.broken = true
	return b.s.fail(noEOF(err))
}

// ending is what follows the last byte owed.
func (b *body) ending() error {
	if !b.toEnd {
		b.s.abandon()
		return io.EOF
	}
	var more [1]byte
	switch n, err := b.from.Read(more[:]); {
	case n > 0:
		b.s.broken = true
		return b.s.fail(errors.New("the server sends more than it said"))
	case err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF):
		// A TLS connection may end without a word: the size and the reply vouch for the file.
		b.s.broken = true
		return b.s.fail(err)
	}
	return b.complete()
}

func (b *body) complete() error {
	if err := b.s.finish(); err != nil {
		return b.s.fail(class(transfer.Temporary, err))
	}
	return io.EOF
}

// short is a data connection that ended too early; the reply may say why.
func (b *body) short() error {
	err := fmt.Errorf("%d bytes short: %w", b.left, io.ErrUnexpectedEOF)
	if cause := b.s.finish(); cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return b.s.fail(class(transfer.Temporary, err))
}

// Close implements io.Closer.
func (b *body) Close() error {
	if b.over == nil {
		b.over = b.s.fail(errors.New("the body is closed"))
		b.s.abandon()
	}
	b.s.end()
	return nil
}

// unixLines makes LF of CR LF, which is how lines travel in ascii mode.
type unixLines struct {
	from net.Conn
	cr   bool // one is held back: what follows decides
	held []byte
}

func (l *unixLines) Read(p []byte) (int, error) {
	if len(l.held) == 0 {
		buf := make([]byte, len(p))
		n, err := l.from.Read(buf)
		l.take(buf[:n])
		if err != nil && l.cr {
			l.held, l.cr = append(l.held, '\r'), false
		}
		if err != nil && len(l.held) == 0 {
			return 0, err
		}
	}
	n := copy(p, l.held)
	l.held = l.held[n:]
	return n, nil
}

func (l *unixLines) take(b []byte) {
	for _, c := range b {
		if l.cr && c != '\n' {
			l.held = append(l.held, '\r')
		}
		if l.cr = c == '\r'; !l.cr {
			l.held = append(l.held, c)
		}
	}
}
