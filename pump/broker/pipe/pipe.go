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
	"fmt"
	"io"
	"log/slog"
	"sync"

	"srpump/pump/broker"
)

// maxLine is the longest line read, in bytes; longer ones are passed over with a warning.
const maxLine = 1 << 20

// A Conn reads publishings from one stream and writes them to another; either may be nil.
type Conn struct {
	in  io.Reader
	out io.Writer
	log *slog.Logger
}

var _ broker.Conn = (*Conn)(nil)

// New makes a connection of a pair of streams. It does not close them.
func New(in io.Reader, out io.Writer, log *slog.Logger) *Conn {
	return &Conn{in: in, out: out, log: log}
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
	w := &writer{out: bufio.NewWriterSize(c.out, 64<<10), queue: make(chan item, max(o.Window, 256)), done: make(chan struct{})}
	go w.write()
	return w, nil
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
			r.log.Warn("line too long, passed over", "line", n, "bytes", maxLine)
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

// readLine returns one line without its end, or bufio.ErrTooLong after passing one over.
func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := br.ReadSlice('\n')
		if !long && len(line)+len(part) > maxLine {
			line, long = nil, true
		}
		if !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil && long:
			return nil, bufio.ErrTooLong
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

type item struct {
	p    broker.Publishing
	done func(error)
}

type writer struct {
	out   *bufio.Writer
	queue chan item
	done  chan struct{}
	mu    sync.Mutex // guards closed against a send on queue
	gone  bool
	wg    sync.WaitGroup
}

// write drains the queue and flushes whenever it runs empty, so that a reader
// sees a line at once and a burst costs few system calls.
func (w *writer) write() {
	defer close(w.done)
	var waiting []func(error)
	var failed error
	var buf []byte
	flush := func() {
		if failed == nil {
			if err := w.out.Flush(); err != nil {
				failed = fmt.Errorf("cannot write announcement: %w", err)
			}
		}
		for _, done := range waiting {
			done(failed)
			w.wg.Done()
		}
		waiting = waiting[:0]
	}
	for it := range w.queue {
		line, err := appendLine(buf[:0], it.p.Key, it.p.Headers, it.p.Body)
		if err == nil {
			buf = line
			w.out.Write(line)
			waiting = append(waiting, it.done)
		} else {
			it.done(err)
			w.wg.Done()
		}
		if len(w.queue) == 0 || len(waiting) >= 1000 {
			flush()
		}
	}
	flush()
}

// appendLine writes [topic, headers, body] and a line feed.
func appendLine(b []byte, key string, headers map[string]any, body []byte) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if headers == nil {
		headers = map[string]any{}
	}
	if err := enc.Encode([]any{key, headers, string(bytes.TrimRight(body, " \n"))}); err != nil {
		return nil, fmt.Errorf("cannot write announcement %q: %w", key, err)
	}
	return buf.Bytes(), nil
}

func (w *writer) Publish(ctx context.Context, p broker.Publishing, done func(error)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return broker.ErrClosed
	}
	w.wg.Add(1)
	select {
	case w.queue <- item{p, done}:
		return nil
	case <-ctx.Done():
		w.wg.Done()
		return ctx.Err()
	}
}

func (w *writer) Flush(ctx context.Context) error {
	idle := make(chan struct{})
	go func() { w.wg.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *writer) Close() error {
	w.mu.Lock()
	if !w.gone {
		w.gone = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.done
	return nil
}
