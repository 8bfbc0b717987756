package pipe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"srpump/pump/broker"
)

const (
	writeBatch = 1000        // publishings written before they are confirmed, at most
	closeLimit = time.Second // how long Close waits for who reads our output
)

// A letter is one publishing on its way.
type letter struct {
	p    broker.Publishing
	done func(error)
	err  error // why it cannot be written; belongs to the goroutine that writes
}

// A writer holds what is not confirmed in order. The goroutine that writes may stand still in
// a write for ever, as nothing can wake it, so nobody else waits for it without an end.
type writer struct {
	out     *bufio.Writer
	put     Form
	slots   chan struct{} // one for each publishing not confirmed
	work    chan struct{} // there is something to take
	closing chan struct{}
	ended   chan struct{} // the goroutine that writes has returned
	once    sync.Once

	mu      sync.Mutex
	closed  bool
	open    []*letter
	sent    uint64 // letters taken from Publish
	settled uint64 // letters whose done has returned
	idle    chan struct{}
}

func newWriter(out io.Writer, put Form, window int) *writer {
	w := &writer{
		out: bufio.NewWriterSize(out, 64<<10), put: put, slots: make(chan struct{}, window), work: make(chan struct{}, 1),
		closing: make(chan struct{}), ended: make(chan struct{}), idle: make(chan struct{}),
	}
	go w.run()
	return w
}

// Publish implements broker.Publisher.
func (w *writer) Publish(ctx context.Context, p broker.Publishing, done func(error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case w.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return broker.ErrClosed
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		<-w.slots
		return broker.ErrClosed
	}
	w.open = append(w.open, &letter{p: p, done: done})
	w.sent++
	select {
	case w.work <- struct{}{}:
	default:
	}
	return nil
}

// run writes what there is and flushes whenever there is no more, so that a reader sees a
// line at once and a burst costs few system calls.
func (w *writer) run() {
	defer close(w.ended)
	for {
		select {
		case <-w.work:
		case <-w.closing:
		}
		for batch := w.take(); len(batch) > 0; batch = w.take() {
			err := w.write(batch)
			w.settle(len(batch), func(l *letter) error {
				if l.err != nil {
					return l.err
				}
				return err
			})
		}
		if w.stopped() {
			return
		}
	}
}

// take is the next batch, empty when there is none.
func (w *writer) take() []*letter {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.open), writeBatch)
	return w.open[:n:n]
}

// stopped is true once Close has been called and nothing is left.
func (w *writer) stopped() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed && len(w.open) == 0
}

// write puts letters out; its error is that of all of them.
func (w *writer) write(batch []*letter) error {
	var buf []byte
	for _, l := range batch {
		var line []byte
		if line, l.err = w.put(buf[:0], l.p); l.err == nil {
			buf = line
			w.out.Write(line)
		}
	}
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("cannot write announcement: %w", err)
	}
	return nil
}

// settle takes the first n letters off, fewer when Close was quicker, and tells them how they ended.
func (w *writer) settle(n int, outcome func(*letter) error) {
	w.mu.Lock()
	n = min(n, len(w.open))
	batch := w.open[:n:n]
	if w.open = w.open[n:]; len(w.open) == 0 {
		w.open = nil
	}
	w.mu.Unlock()
	for _, l := range batch {
		l.done(outcome(l))
		<-w.slots
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settled += uint64(n)
	close(w.idle)
	w.idle = make(chan struct{})
}

// appendLine writes [topic, headers, body] and a line feed.
func appendLine(b []byte, p broker.Publishing) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	headers := p.Headers
	if headers == nil {
		headers = map[string]any{}
	}
	if err := enc.Encode([]any{p.Key, headers, string(bytes.TrimRight(p.Body, " \n"))}); err != nil {
		return nil, fmt.Errorf("cannot write announcement %q: %w", p.Key, err)
	}
	return buf.Bytes(), nil
}

// Flush implements broker.Publisher.
func (w *writer) Flush(ctx context.Context) error {
	w.mu.Lock()
	target := w.sent
	for w.settled < target {
		idle := w.idle
		w.mu.Unlock()
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
		w.mu.Lock()
	}
	w.mu.Unlock()
	return nil
}

// Close implements broker.Publisher. It writes what is left while the reader takes it, and
// fails the rest after closeLimit.
func (w *writer) Close() error {
	w.once.Do(func() {
		w.mu.Lock()
		w.closed = true
		w.mu.Unlock()
		close(w.closing)
		limit := time.NewTimer(closeLimit)
		defer limit.Stop()
		select {
		case <-w.ended:
		case <-limit.C:
			w.settle(math.MaxInt, func(*letter) error { return broker.ErrClosed })
		}
	})
	return nil
}
