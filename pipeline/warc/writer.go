package warc

import (
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// WriteOptions are how a file is written. The zero value writes version 1.0, compressed at
// level 6 by as many workers as there are processors, with sha1 digests in base32.
type WriteOptions struct {
	Version string // V10 or V11, of records that name none
	Plain   bool   // do not compress
	Level   int    // of gzip, 1 to 9; 0 is 6
	Workers int    // records compressed at once; 0 is one for each processor
	Digest  Algorithm
	Hex     bool // digests in hexadecimal instead of base32
	// Offset is the length of the file so far, when it is written on to.
	Offset int64
	// SpillAt is the length of a block, in bytes, from which on it is kept in a temporary file
	// in TempDir, not in memory, until its digests are known; 0 is 1 MiB.
	SpillAt int
	TempDir string // "" is the directory of the system
}

const defaultSpill = 1 << 20

func (o WriteOptions) defaults() WriteOptions {
	if o.Version == "" {
		o.Version = V10
	}
	if o.Level == 0 {
		o.Level = 6
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Digest == "" {
		o.Digest = SHA1
	}
	if o.SpillAt <= 0 {
		o.SpillAt = defaultSpill
	}
	return o
}

// ErrClosed is what writing behind Close is answered with.
var ErrClosed = errors.New("the WARC writer is closed")

// A Place is where a record stands in a file.
type Place struct {
	Offset, Length int64 // in bytes
}

// A Pending is a record on its way.
type Pending struct {
	done  chan struct{}
	place Place
	err   error
}

// Wait returns where the record stands once all its bytes, and those of all before it, were
// taken by the destination.
func (p *Pending) Wait() (Place, error) {
	<-p.done
	return p.place, p.err
}

// A Writer appends records to a destination. Several goroutines may use one. After an error of
// the destination nothing more is written: it may end in the midst of a record, and Whole
// tells how far it is good. Durability is the caller's; Sync helps.
type Writer struct {
	to      io.Writer
	o       WriteOptions
	queue   chan *job // in the order of the file
	work    chan *job // those to be encoded
	ended   sync.WaitGroup
	buffers sync.Pool

	mu     sync.Mutex // order of queue, closed
	closed bool

	state  sync.Mutex // of what follows
	offset int64
	err    error
}

// NewWriter starts the workers; Close ends them. The destination stays the caller's.
func NewWriter(to io.Writer, o WriteOptions) (*Writer, error) {
	o = o.defaults()
	if o.Digest != NoDigest && o.Digest.newHash() == nil {
		return nil, errors.New("cannot make digests of the algorithm " + string(o.Digest))
	}
	if _, err := gzip.NewWriterLevel(io.Discard, o.Level); err != nil {
		return nil, err
	}
	w := &Writer{to: to, o: o, offset: o.Offset, queue: make(chan *job, 2*o.Workers), work: make(chan *job, 2*o.Workers)}
	w.ended.Add(o.Workers + 1)
	for range o.Workers {
		go w.encodeAll()
	}
	go w.placeAll()
	return w, nil
}

// Add reads the block of a record and queues it; it returns before the record is written. Its
// error is that of the block, or of a field that cannot be written: then nothing was, and the
// writer goes on.
func (w *Writer) Add(r *Record) (*Pending, error) {
	j, err := w.prepare(r)
	if err != nil {
		return nil, err
	}
	streamed := j.stream != nil
	if err := w.submit(j); err != nil {
		w.release(j)
		return nil, err
	}
	if streamed { // its block is the caller's, who may not read on before
		<-j.done
		return &j.Pending, j.err
	}
	return &j.Pending, nil
}

// Write is Add and Wait.
func (w *Writer) Write(r *Record) (Place, error) {
	p, err := w.Add(r)
	if err != nil {
		return Place{}, err
	}
	return p.Wait()
}

func (w *Writer) submit(j *job) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	w.queue <- j
	if j.inMemory {
		w.work <- j
	} else {
		close(j.ready)
	}
	return nil
}

// Flush waits until all that was added is written, and returns the error of the destination.
func (w *Writer) Flush() error {
	j := &job{Pending: Pending{done: make(chan struct{})}, ready: make(chan struct{})}
	if err := w.submit(j); err != nil {
		return errors.Join(err, w.fault())
	}
	<-j.done
	return w.fault()
}

// Sync is Flush, and has a destination that is a file written to the disk.
func (w *Writer) Sync() error {
	if err := w.Flush(); err != nil {
		return err
	}
	if f, ok := w.to.(interface{ Sync() error }); ok {
		return f.Sync()
	}
	return nil
}

// Close writes what was added and ends the workers.
func (w *Writer) Close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
		close(w.work)
	}
	w.mu.Unlock()
	w.ended.Wait()
	return w.fault()
}

// Whole is up to which byte the destination holds whole records.
func (w *Writer) Whole() int64 {
	w.state.Lock()
	defer w.state.Unlock()
	return w.offset
}

func (w *Writer) fault() error {
	w.state.Lock()
	defer w.state.Unlock()
	return w.err
}

// encodeAll is a worker.
func (w *Writer) encodeAll() {
	defer w.ended.Done()
	z, _ := gzip.NewWriterLevel(io.Discard, w.o.Level) // NewWriter has seen that the level is one
	for j := range w.work {
		j.err = w.encode(j, j.out, z)
		close(j.ready)
	}
}

// placeAll puts the records into the destination, in their order.
func (w *Writer) placeAll() {
	defer w.ended.Done()
	z, _ := gzip.NewWriterLevel(io.Discard, w.o.Level)
	for j := range w.queue {
		<-j.ready
		w.place(j, z)
		w.release(j)
		close(j.done)
	}
}

func (w *Writer) place(j *job, z *gzip.Writer) {
	if err := w.fault(); err != nil || j.err != nil {
		j.err = errors.Join(j.err, err)
		return
	}
	count := &counter{to: w.to}
	switch {
	case j.inMemory:
		_, j.err = count.Write(j.out.Bytes())
	case j.head != nil:
		j.err = w.encode(j, count, z)
	}
	w.state.Lock()
	defer w.state.Unlock()
	if j.err != nil {
		if count.n > 0 || count.failed {
			w.err = j.err
		}
		return
	}
	j.place = Place{w.offset, count.n}
	w.offset += count.n
}

// A counter counts what a destination took.
type counter struct {
	to     io.Writer
	n      int64
	failed bool
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	c.failed = c.failed || err != nil
	return n, err
}
