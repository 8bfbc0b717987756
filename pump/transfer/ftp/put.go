package ftp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"strings"

	"srpump/pump/transfer"
)

// Put implements transfer.Writer. Where the server tells sizes, the size is compared afterwards.
func (f *FTP) Put(ctx context.Context, p transfer.Put) (n int64, err error) {
	s, err := f.begin(ctx, "put", p.URL)
	if err != nil {
		return 0, err
	}
	defer s.end()
	from := &source{from: p.From, left: p.Size}
	n, err = s.put(p, from)
	switch {
	case from.failed != nil && s.ctx.Err() == nil:
		return n, from.failed // its own failure, as it is
	case err != nil:
		return n, s.fail(err)
	}
	return n, nil
}

func (s *session) put(p transfer.Put, from *source) (int64, error) {
	before, err := s.room(p)
	if err != nil {
		return 0, err
	}
	conn, err := s.transferOf(p.Offset, "STOR %s", s.path)
	if err != nil {
		return 0, s.whyNot(err)
	}
	n, err := s.pour(conn, from)
	if err != nil {
		return n, err
	}
	if err := s.verify(p, before, n); err != nil {
		return n, err
	}
	if p.Mode != 0 && !p.Keep {
		_, _, err = s.command("SITE CHMOD %04o %s", p.Mode.Perm(), s.path)
		if s.broken {
			return n, err
		}
	}
	return n, nil
}

// whyNot tells whether the directory is missing or does not let us: servers answer 553 or 550 to both.
func (s *session) whyNot(err error) error {
	var reply *replyError
	if s.broken || !errors.As(err, &reply) || reply.code != 550 && reply.code != 553 {
		return err
	}
	if _, missing := s.expect(250, "CWD %s", path.Dir(s.path)); missing != nil {
		return class(transfer.NotFound, err)
	}
	return class(transfer.Forbidden, err)
}

// room finds out whether bytes can go where they should, and how large the file is before. STOR empties a file unless
// REST names a place in it, and place 0 is none.
func (s *session) room(p transfer.Put) (before int64, err error) {
	if !p.Keep {
		return 0, nil
	}
	if s.ascii || p.Offset > 0 && !s.restarts() {
		return 0, class(transfer.Unsupported, errors.New("the server writes no parts of files"))
	}
	if before, _, err = s.look(s.path); err != nil {
		return 0, err
	}
	if p.Offset == 0 && before > 0 && (p.Size < 0 || before > p.Size) {
		return 0, class(transfer.Unsupported, errors.New("FTP writes no first part of a file that has more"))
	}
	return max(0, before), nil
}

func (s *session) restarts() bool {
	return strings.Contains(strings.ToUpper(s.features["REST"]), "STREAM")
}

// pour sends the bytes and reads what the server made of them.
func (s *session) pour(conn net.Conn, from *source) (int64, error) {
	var r io.Reader = from
	if s.ascii {
		r = &wireLines{from: from}
	}
	_, err := io.CopyBuffer(struct{ io.Writer }{conn}, r, make([]byte, 256<<10))
	if err == nil && from.n == 0 {
		err = handshake(conn) // else the server waits for TLS that never begins
	}
	if from.failed != nil || from.wrong != nil {
		s.reset()
		return from.n, errors.Join(from.failed, from.wrong)
	}
	if err == nil {
		err = s.noMore(conn)
	}
	said := s.outcome()
	s.drop()
	if said != nil {
		return from.n, class(transferClass(said), said)
	}
	if err != nil {
		s.broken = true
		return from.n, fmt.Errorf("the data connection broke: %w", err)
	}
	return from.n, nil
}

// noMore ends what we send, and keeps the data connection: closing one on which the server said something that was
// not read, such as a ticket of TLS, would reset it, and with it bytes the server has not read yet.
func (s *session) noMore(conn net.Conn) error {
	if secure, ok := conn.(*tls.Conn); ok {
		if err := secure.CloseWrite(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if half, ok := s.data.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func handshake(conn net.Conn) error {
	if t, ok := conn.(interface{ Handshake() error }); ok {
		return t.Handshake()
	}
	return nil
}

// transferClass is the class of a refusal in the midst of a transfer: that the file was not found is none of them.
func transferClass(err error) transfer.Class {
	if c := classify(err); c == transfer.Forbidden {
		return c
	}
	return transfer.Temporary
}

// reset breaks both connections, so that the server does not take what came for the whole.
func (s *session) reset() {
	s.broken = true
	s.hangUp()
	s.drop()
}

// verify compares what the server holds with what was sent.
func (s *session) verify(p transfer.Put, before, sent int64) error {
	size, _, err := s.look(s.path)
	if err != nil || size < 0 {
		return err
	}
	if want := max(before, p.Offset+sent); size != want {
		return fmt.Errorf("the server holds %d bytes of %d", size, want)
	}
	return nil
}

// source holds a reader to the bytes it must give, and tells its failures from the connection's.
type source struct {
	from   io.Reader
	left   int64 // below zero: to its end
	n      int64
	failed error // of the reader
	wrong  error // it gave fewer bytes or more
}

func (f *source) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, f.ended()
	}
	if f.left > 0 {
		p = p[:min(int64(len(p)), f.left)]
	}
	n, err := f.from.Read(p)
	f.n += int64(n)
	if f.left > 0 {
		f.left -= int64(n)
	}
	switch {
	case err == io.EOF && f.left > 0:
		f.wrong = fmt.Errorf("%d bytes short: %w", f.left, io.ErrUnexpectedEOF)
		return n, f.wrong
	case err != nil && err != io.EOF:
		f.failed = err
	}
	return n, err
}

// ended looks whether more comes than should.
func (f *source) ended() error {
	var more [1]byte
	n, err := io.ReadFull(f.from, more[:])
	switch {
	case n > 0:
		f.wrong = errors.New("the source gives more than it said")
		return f.wrong
	case err != io.EOF:
		f.failed = err
	}
	return err
}

// wireLines makes CR LF of LF, for ascii mode.
type wireLines struct {
	from io.Reader
	held []byte
}

func (l *wireLines) Read(p []byte) (int, error) {
	if len(l.held) == 0 {
		buf := make([]byte, len(p))
		n, err := l.from.Read(buf)
		if n == 0 {
			return 0, err
		}
		l.held = bytes.ReplaceAll(buf[:n], []byte("\n"), []byte("\r\n"))
	}
	n := copy(p, l.held)
	l.held = l.held[n:]
	return n, nil
}
