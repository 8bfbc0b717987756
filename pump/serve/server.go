package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"
)

const (
	headerTimeout = 10 * time.Second  // to send a request
	idleTimeout   = 120 * time.Second // between two requests
	stallTimeout  = 300 * time.Second // in which a client must take one portion
	stopTimeout   = 3 * time.Second   // for transfers under way when told to stop
	portion       = 256 << 10         // bytes
)

// Serve answers on ln until ctx ends, then lets transfers under way finish for
// three seconds, and returns nil. A transfer has no limit as a whole; a client
// that takes less than 256 KiB in five minutes is cut off. It closes ln.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, log *slog.Logger) error {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	stopped := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(stopped)
		stop(s)
	})
	err := s.Serve(&listener{ln})
	if unhook() {
		return err // it ended by itself
	}
	<-stopped
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func stop(s *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if s.Shutdown(ctx) != nil {
		s.Close()
	}
}

type listener struct{ net.Listener }

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{c}, nil
}

// conn moves the write deadline with every portion sent, and keeps sendfile(2).
type conn struct{ net.Conn }

func (c *conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(stallTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// ReadFrom sends a file in portions, each with a deadline of its own.
func (c *conn) ReadFrom(r io.Reader) (n int64, err error) {
	to, ok := c.Conn.(io.ReaderFrom)
	part := &io.LimitedReader{R: r}
	left := int64(-1)
	if lr, limited := r.(*io.LimitedReader); limited {
		part.R, left = lr.R, lr.N // sendfile knows one limit, not two
	}
	if _, file := part.R.(*os.File); !ok || !file {
		return io.Copy(struct{ io.Writer }{c}, r)
	}
	for left != 0 {
		part.N = portion
		if left > 0 {
			part.N = min(part.N, left)
		}
		if err = c.SetWriteDeadline(time.Now().Add(stallTimeout)); err != nil {
			return n, err
		}
		m, err := to.ReadFrom(part)
		n += m
		left = max(left-m, min(left, 0))
		if err != nil || m == 0 {
			return n, err
		}
	}
	return n, nil
}
