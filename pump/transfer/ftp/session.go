package ftp

import (
	"context"
	"io"
	"sync"

	"srpump/pump/transfer"
)

// A session is one operation on one control connection. When its context ends, so do the connections.
type session struct {
	*control
	f    *FTP
	ctx  context.Context
	at   place
	op   string // as transfer.Error has it
	url  string
	path string // absolute, on the server
	stop func() bool

	mu   sync.Mutex
	data io.Closer // the TCP connection or listener for data
	over bool
}

// begin opens the session of an operation on a URL.
func (f *FTP) begin(ctx context.Context, op, rawURL string) (*session, error) {
	at, path, err := f.locate(rawURL)
	if err != nil {
		return nil, transfer.Fail(op, rawURL, classify(err), err)
	}
	if err := ctx.Err(); err != nil {
		return nil, transfer.Fail(op, rawURL, transfer.Temporary, err)
	}
	s := &session{f: f, ctx: ctx, at: at, op: op, url: rawURL}
	if s.control, err = f.obtain(ctx, at); err != nil {
		return nil, s.fail(err)
	}
	s.path = s.control.path(path)
	s.stop = context.AfterFunc(ctx, s.cut)
	return s, nil
}

// end gives the connection back. It may be called twice.
func (s *session) end() {
	s.drop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.over = true
	if !s.stop() {
		s.broken = true
	}
	s.f.pool.give(s.at, s.control)
}

// cut ends both connections at once.
func (s *session) cut() {
	s.hangUp()
	s.drop()
}

// hold makes cut and end know of what carries the data.
func (s *session) hold(conn io.Closer) {
	s.mu.Lock()
	s.data = conn
	s.mu.Unlock()
	if s.ctx.Err() != nil {
		s.drop()
	}
}

// drop closes what carries the data, if there is something.
func (s *session) drop() {
	s.mu.Lock()
	conn := s.data
	s.data = nil
	s.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
}

// fail names operation and URL in a failure, which is that of the context when it has ended.
func (s *session) fail(err error) error {
	if s.ctx.Err() != nil {
		err = s.ctx.Err()
	}
	return transfer.Fail(s.op, s.url, classify(err), err)
}

// do runs a whole operation.
func (f *FTP) do(ctx context.Context, op, rawURL string, work func(*session) error) error {
	s, err := f.begin(ctx, op, rawURL)
	if err != nil {
		return err
	}
	defer s.end()
	if err := work(s); err != nil {
		return s.fail(err)
	}
	return nil
}
