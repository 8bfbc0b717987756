package sftp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pkg/sftp"

	"srpump/pump/transfer"
)

// leaveWithin is how long a Put that was cancelled waits for what it has sent to be answered, so
// that nothing of it is written after what comes next.
const leaveWithin = time.Second

// errFrom marks what the source of a Put failed with.
type errFrom struct{ error }

// Put implements transfer.Writer. The file is synced to disk where the server has fsync@openssh.com,
// and closed; only an answer to that is a success.
func (s *SFTP) Put(ctx context.Context, p transfer.Put) (n int64, err error) {
	err = s.with(ctx, "put", p.URL, false, func(l *link, path string) error {
		file, err := l.create(ctx, path, p)
		if err != nil {
			return err
		}
		w := &writer{ctx: ctx, link: l, file: file, packet: l.packet()}
		n, err = w.copy(p)
		w.settle()
		if err == nil {
			err = w.failure()
		}
		if err != nil {
			l.leave(file)
			return err
		}
		return act(ctx, l, func() error { return finish(l, file) })
	})
	var from errFrom
	if errors.As(err, &from) {
		return n, from.error
	}
	return n, err
}

// finish is the server's word that it has the file.
func finish(l *link, file *sftp.File) error {
	var err error
	if v, ok := l.files.HasExtension("fsync@openssh.com"); ok && v == "1" {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// create opens the file to write. One that is made here, or was left empty of what it held, has its mode before it has
// a byte.
func (l *link) create(ctx context.Context, path string, p transfer.Put) (*sftp.File, error) {
	flags := os.O_WRONLY | os.O_CREATE
	if !p.Keep {
		flags |= os.O_TRUNC
	}
	return do(ctx, l, func() (*sftp.File, error) {
		if p.Mode == 0 {
			return l.files.OpenFile(path, flags)
		}
		file, err := l.files.OpenFile(path, flags|os.O_EXCL)
		if err != nil { // it is there, or what is wrong will be said again
			if file, err = l.files.OpenFile(path, flags); err != nil || p.Keep {
				return file, err
			}
		}
		if err := file.Chmod(p.Mode.Perm()); err != nil && classOf(err) != transfer.Unsupported {
			file.Close()
			return nil, err
		}
		return file, nil
	}, l.leave)
}

// writer sends a file in packets of which many are under way.
type writer struct {
	ctx    context.Context
	link   *link
	file   *sftp.File
	packet int
	sent   []*packet // in order, not known to be answered
	free   [][]byte
	err    error // the first failure of a packet
}

// packet is one write.
type packet struct {
	buf  []byte
	err  error
	done chan struct{}
}

// copy reads the source here, in the caller's goroutine, so that nobody reads it after Put.
func (w *writer) copy(p transfer.Put) (n int64, err error) {
	for {
		buf, err := w.buffer()
		if err != nil {
			return n, err
		}
		if left := p.Size - n; p.Size >= 0 && left < int64(len(buf)) {
			buf = buf[:left+1] // one more, to see that there is no more
		}
		got, err := io.ReadFull(p.From, buf)
		end := err == io.EOF || err == io.ErrUnexpectedEOF
		switch {
		case p.Size >= 0 && n+int64(got) > p.Size:
			return n, fmt.Errorf("the source gave more than the %d bytes it was to give", p.Size)
		case err != nil && !end:
			return n, errFrom{err}
		case end && p.Size > n+int64(got):
			return n, fmt.Errorf("the source gave %d bytes of %d", n+int64(got), p.Size)
		}
		w.send(buf[:got], p.Offset+n)
		if n += int64(got); end {
			return n, nil
		}
	}
}

// buffer waits until there is room for one more packet.
func (w *writer) buffer() ([]byte, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	for len(w.sent) >= max(1, inFlight/w.packet) {
		if err := w.await(w.ctx.Done()); err != nil {
			return nil, err
		}
	}
	if last := len(w.free) - 1; last >= 0 {
		buf := w.free[last]
		w.free = w.free[:last]
		return buf, nil
	}
	return make([]byte, w.packet), nil
}

func (w *writer) send(buf []byte, off int64) {
	if len(buf) == 0 {
		return
	}
	p := &packet{buf: buf, done: make(chan struct{})}
	w.sent = append(w.sent, p)
	w.link.owed.Add(1)
	go func() {
		_, p.err = w.file.WriteAt(p.buf, off)
		w.link.owed.Add(-1)
		close(p.done)
	}()
}

// await waits for the answer to the oldest packet.
func (w *writer) await(stop <-chan struct{}) error {
	p := w.sent[0]
	select {
	case <-p.done:
	case <-stop:
		return w.ctx.Err()
	case <-w.link.ctx.Done():
		return context.Cause(w.link.ctx)
	}
	w.sent = w.sent[1:]
	w.free = append(w.free, p.buf[:cap(p.buf)])
	if p.err != nil && w.err == nil {
		w.err = w.link.because(p.err)
	}
	return w.err
}

// settle waits for all answers, as long as there is a link; for a caller who has left not for long.
func (w *writer) settle() {
	enough := make(chan struct{})
	leave := context.AfterFunc(w.ctx, func() { time.AfterFunc(leaveWithin, func() { close(enough) }) })
	defer leave()
	for len(w.sent) > 0 {
		before := len(w.sent)
		_ = w.await(enough)
		if len(w.sent) == before { // nothing will come
			return
		}
	}
}

// failure is why the server has not got all that was sent.
func (w *writer) failure() error {
	switch {
	case w.err != nil:
		return w.err
	case w.ctx.Err() != nil:
		return w.ctx.Err()
	case len(w.sent) > 0:
		return context.Cause(w.link.ctx)
	}
	return nil
}
