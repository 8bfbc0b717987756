package amqp

import (
	"bufio"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	readBuffer  = 32 << 10
	writeBuffer = 64 << 10
)

// A wire is the byte stream below an AMQP connection. The library flushes
// after every method; a corked wire keeps what it is given until it is
// uncorked or its buffer is full, so that a batch of publishings or
// acknowledgements costs one system call in place of one each.
type wire struct {
	conn net.Conn
	r    *bufio.Reader
	idle atomic.Int64 // nanoseconds of silence after which the peer is dead

	mu    sync.Mutex
	buf   []byte
	corks int
}

func newWire(conn net.Conn, idle time.Duration) *wire {
	w := &wire{conn: conn}
	w.r = bufio.NewReaderSize(wireReader{w}, readBuffer)
	w.idle.Store(int64(idle))
	return w
}

// A wireReader reads from the socket, giving up after the idle time.
type wireReader struct{ w *wire }

func (r wireReader) Read(p []byte) (int, error) {
	if err := r.w.conn.SetReadDeadline(time.Now().Add(time.Duration(r.w.idle.Load()))); err != nil {
		return 0, err
	}
	return r.w.conn.Read(p)
}

// Read has one caller, the library's reader.
func (w *wire) Read(p []byte) (int, error) { return w.r.Read(p) }

// Write sends p, or keeps it while the wire is corked.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.corks == 0 && len(w.buf) == 0 {
		return w.conn.Write(p)
	}
	w.buf = append(w.buf, p...)
	if w.corks > 0 && len(w.buf) < writeBuffer {
		return len(p), nil
	}
	return len(p), w.flush()
}

// cork begins a batch of writes.
func (w *wire) cork() {
	w.mu.Lock()
	w.corks++
	w.mu.Unlock()
}

// uncork ends a batch and sends it. A stream that takes no bytes is closed, so
// that its reader learns of it.
func (w *wire) uncork() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.corks--
	if w.flush() != nil {
		_ = w.conn.Close()
	}
}

func (w *wire) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.conn.Write(w.buf)
	if cap(w.buf) > 2*writeBuffer {
		w.buf = nil
	}
	w.buf = w.buf[:0]
	return err
}

// Close ends the stream at once, also under a Write that waits.
func (w *wire) Close() error { return w.conn.Close() }
