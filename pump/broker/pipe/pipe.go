// Package pipe is the broker engine behind "-": announcements as JSON lines on
// standard input and output, one array [topic, headers, body] a line, the form
// the option "outlet json" has always had. It has no queues: declaring is a
// no-op, so that one configuration runs with a broker and without.
package pipe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"

	"srpump/pump/broker"
)

// maxLine is the longest line read, in bytes; longer ones are poison. A body of 16 MiB, which may carry a file,
// is at most twice as long within a line.
const maxLine = 32 << 20

// A Conn reads publishings from one stream and writes them to another; either may be nil.
type Conn struct {
	in  io.Reader
	out io.Writer
	log *slog.Logger
	put Form
}

// A Form appends a publishing to b as it is to be written, with the line feed behind it.
type Form func(b []byte, p broker.Publishing) ([]byte, error)

var _ broker.Conn = (*Conn)(nil)

// New makes a connection of a pair of streams, which writes JSON lines. It does not close them.
func New(in io.Reader, out io.Writer, log *slog.Logger) *Conn {
	return NewForm(in, out, log, appendLine)
}

// NewForm is New with lines of another form.
func NewForm(in io.Reader, out io.Writer, log *slog.Logger, put Form) *Conn {
	return &Conn{in: in, out: out, log: log, put: put}
}

// The topology of a pipe is the pipe.

func (*Conn) DeclareExchange(context.Context, broker.Exchange) error  { return nil }
func (*Conn) DeclareQueue(context.Context, broker.Queue) (int, error) { return 0, nil }
func (*Conn) Bind(context.Context, broker.Binding) error              { return nil }
func (*Conn) Unbind(context.Context, broker.Binding) error            { return nil }
func (*Conn) Purge(context.Context, string) (int, error)              { return 0, nil }
func (*Conn) DeleteQueue(context.Context, string) error               { return nil }
func (*Conn) DeleteExchange(context.Context, string, bool) error      { return nil }
func (*Conn) Close() error                                            { return nil }
func (*Conn) unsupported(op string) error {
	return &broker.Error{Op: op, Object: "-", Kind: broker.ErrUnsupported}
}

// Consume reads the input; it ends with io.EOF.
func (c *Conn) Consume(_ context.Context, _ string, o broker.ConsumeOptions) (broker.Consumer, error) {
	if c.in == nil {
		return nil, c.unsupported("consume")
	}
	r := &reader{lines: make(chan *broker.Delivery, max(o.Prefetch, 1)), done: make(chan struct{}), log: c.log}
	go r.read(c.in)
	return r, nil
}

// Publisher writes to the output. A publishing is confirmed when it was written.
func (c *Conn) Publisher(_ context.Context, o broker.PublishOptions) (broker.Publisher, error) {
	if c.out == nil {
		return nil, c.unsupported("publish")
	}
	return newWriter(c.out, c.put, max(o.Window, 256)), nil
}

type reader struct {
	lines chan *broker.Delivery
	err   error // set before lines is closed
	done  chan struct{}
	once  sync.Once
	log   *slog.Logger
}

// read runs until the input ends; a read that blocks outlives Close, as a pipe
// cannot be woken.
func (r *reader) read(in io.Reader) {
	defer close(r.lines)
	br := bufio.NewReaderSize(in, 64<<10)
	for n := uint64(1); ; n++ {
		line, err := readLine(br)
		if len(bytes.TrimSpace(line)) > 0 {
			r.hand(line, n)
		}
		if errors.Is(err, bufio.ErrTooLong) {
			r.log.Warn("line too long", "line", n, "limit", maxLine)
			continue
		}
		if err != nil {
			r.err = err
			return
		}
	}
}

// hand passes a line on. One that is no announcement is handed over as it is,
// for the flow to count and keep as poison.
func (r *reader) hand(line []byte, n uint64) {
	d := &broker.Delivery{Tag: broker.Tag{N: n}}
	var f []json.RawMessage
	var body string
	if json.Unmarshal(line, &f) == nil && len(f) >= 3 &&
		json.Unmarshal(f[0], &d.Key) == nil && json.Unmarshal(f[1], &d.Headers) == nil && json.Unmarshal(f[2], &body) == nil {
		d.Body = []byte(body)
	} else {
		d.Headers, d.Body = nil, line
	}
	select {
	case r.lines <- d:
	case <-r.done:
	}
}

// longLine is how much of a line too long is handed over, for the flow to keep as poison.
const longLine = 4 << 10

// readLine returns one line with its end; of one too long its beginning, and bufio.ErrTooLong.
func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := br.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(line) > maxLine {
			line, long = line[:longLine:longLine], true
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil && long:
			return line, bufio.ErrTooLong
		default:
			return line, err
		}
	}
}

// Next returns the next line, then io.EOF.
func (r *reader) Next(ctx context.Context) (*broker.Delivery, error) {
	select {
	case d, ok := <-r.lines:
		if !ok {
			return nil, r.err
		}
		return d, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.done:
		return nil, broker.ErrClosed
	}
}

// Ack does nothing: what was read from a pipe is not given back.
func (*reader) Ack(...broker.Tag) error          { return nil }
func (*reader) Reject(bool, ...broker.Tag) error { return nil }

func (r *reader) Close() error {
	r.once.Do(func() { close(r.done) })
	return nil
}
