package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// A job is a record on its way through the writer: its block is in memory and a worker encodes
// it, or it is in a file or still with the caller and goes straight into the destination.
type job struct {
	Pending
	ready    chan struct{} // closed when it can be placed
	inMemory bool
	rec      Record
	block    *bytes.Buffer
	out      *bytes.Buffer // inMemory, encoded
	stream   io.Reader     // of the caller
	spill    *os.File
	size     int64
	head     []byte // of what is not in memory
}

// release lets go of what the job holds; the Pending stays with the caller.
func (w *Writer) release(j *job) {
	if j.spill != nil {
		j.spill.Close()
	}
	for _, b := range []*bytes.Buffer{j.block, j.out} {
		if b != nil {
			b.Reset()
			w.buffers.Put(b)
		}
	}
	j.block, j.out, j.stream, j.spill, j.rec, j.head = nil, nil, nil, nil, Record{}, nil
}

// buffer is an empty one, to be given back.
func (w *Writer) buffer() *bytes.Buffer {
	if b, ok := w.buffers.Get().(*bytes.Buffer); ok {
		return b
	}
	return new(bytes.Buffer)
}

// errShort is a block that is not as long as was said.
var errShort = errors.New("the block is not as long as said")

// prepare checks a record and takes in its block.
func (w *Writer) prepare(r *Record) (*job, error) {
	if err := writable(r); err != nil {
		return nil, fmt.Errorf("cannot write %s record: %w", r.Type(), err)
	}
	j := &job{Pending: Pending{done: make(chan struct{})}, ready: make(chan struct{}), rec: *r, size: r.Size}
	if j.rec.Version == "" {
		j.rec.Version = w.o.Version
	}
	if j.rec.Block == nil {
		j.rec.Block = strings.NewReader("")
	}
	if d := w.needs(r); r.Size > int64(w.o.SpillAt) && !d.any() {
		j.stream, j.head = j.rec.Block, w.headOf(j, "", "")
		return j, nil
	}
	if err := w.takeIn(j); err != nil {
		w.release(j)
		return nil, fmt.Errorf("cannot read the block of the %s record: %w", r.Type(), err)
	}
	return j, nil
}

// takeIn reads the block into memory, or when it is long into a temporary file.
func (w *Writer) takeIn(j *job) error {
	limit := int64(w.o.SpillAt)
	j.block = w.buffer()
	if j.size >= 0 {
		j.block.Grow(int(min(j.size, limit)) + bytes.MinRead)
	}
	n, err := j.block.ReadFrom(io.LimitReader(j.rec.Block, limit+1))
	if err != nil {
		return err
	}
	if n > limit {
		return w.spill(j)
	}
	if j.size >= 0 && j.size != n {
		return errShort
	}
	j.size, j.inMemory, j.out = n, true, w.buffer()
	return nil
}

// spill writes the block to a file without a name, which nobody has to remove, while its
// digests are made.
func (w *Writer) spill(j *job) (err error) {
	if j.spill, err = os.CreateTemp(w.o.TempDir, "warc-block-*"); err != nil {
		return err
	}
	if err := os.Remove(j.spill.Name()); err != nil {
		return err
	}
	d := w.needs(&j.rec)
	n, err := io.Copy(io.MultiWriter(j.spill, &d), io.MultiReader(j.block, j.rec.Block))
	if err != nil {
		return err
	}
	if j.size >= 0 && j.size != n {
		return errShort
	}
	j.size = n
	if _, err = j.spill.Seek(0, io.SeekStart); err != nil {
		return err
	}
	block, payload := d.sums(w.o)
	j.head = w.headOf(j, block, payload)
	return nil
}

// encode writes the record in the form of the file.
func (w *Writer) encode(j *job, to io.Writer, z *gzip.Writer) error {
	if w.o.Plain {
		return w.write(j, to)
	}
	z.Reset(to)
	if err := w.write(j, z); err != nil {
		return err
	}
	return z.Close()
}

func (w *Writer) write(j *job, to io.Writer) error {
	head := j.head
	if j.inMemory {
		d := w.needs(&j.rec)
		d.Write(j.block.Bytes())
		ofBlock, ofPayload := d.sums(w.o)
		head = w.headOf(j, ofBlock, ofPayload)
	}
	if _, err := to.Write(head); err != nil {
		return err
	}
	if err := j.writeBlock(to); err != nil {
		return err
	}
	_, err := io.WriteString(to, "\r\n\r\n")
	return err
}

func (j *job) writeBlock(to io.Writer) error {
	if j.inMemory {
		_, err := to.Write(j.block.Bytes())
		return err
	}
	block := j.stream
	if j.spill != nil {
		block = j.spill
	}
	n, err := io.Copy(to, io.LimitReader(block, j.size))
	if err == nil && n != j.size {
		err = errShort
	}
	return err
}

// headOf makes the head of a record. Content-Length is always that of the block.
func (w *Writer) headOf(j *job, ofBlock, ofPayload string) []byte {
	b := make([]byte, 0, 512)
	line := func(name, value string) {
		if value != "" {
			b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
		}
	}
	b = append(append(b, j.rec.Version...), "\r\n"...)
	for _, f := range j.rec.Fields {
		if !strings.EqualFold(f.Name, FieldContentLength) {
			line(f.Name, f.Value)
		}
	}
	line(FieldPayloadDigest, ofPayload)
	line(FieldBlockDigest, ofBlock)
	line(FieldContentType, j.rec.ContentType)
	line(FieldContentLength, strconv.FormatInt(j.size, 10))
	return append(b, "\r\n"...)
}

// writable tells whether the fields of a record can be written: a value with a line end
// would be another field.
func writable(r *Record) error {
	for _, name := range []string{FieldType, FieldID, FieldDate} {
		if r.Fields.Get(name) == "" {
			return fmt.Errorf("it has no %s", name)
		}
	}
	for _, f := range append(Fields{{FieldContentType, r.ContentType}, {FieldType, r.Version}}, r.Fields...) {
		if !isToken(f.Name) {
			return fmt.Errorf("%q cannot be the name of a field", f.Name)
		}
		if strings.ContainsAny(f.Value, "\r\n\x00") {
			return fmt.Errorf("the value of %s has a line end in it", f.Name)
		}
	}
	return nil
}
