package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// ReadOptions are how a file is read. The zero value verifies everything.
type ReadOptions struct {
	// Report is told of every fault, in the order of the file; may be nil.
	Report func(*Fault)
	// Unverified leaves digests alone; checksums of gzip members are always verified.
	Unverified bool
	MaxHead    int   // bytes of a head; 0 is 64 KiB
	MaxFields  int   // in a head; 0 is 1,000
	MaxBlock   int64 // bytes of a block; 0 is any number
}

const (
	defaultMaxHead   = 64 << 10
	defaultMaxFields = 1000
)

// A Reader reads the records of a file, compressed or not. What is damaged costs its
// record: it is reported, and the next one is looked for. Memory is bounded whatever
// the file says.
type Reader struct {
	o    ReadOptions
	src  *source
	zr   *gzip.Reader
	zbuf *bufio.Reader // of zr
	form form          // of the record last begun

	inMember bool
	inside   *countReader // of zr
	start    int64        // offset of the record, or of its member
	block    *block       // of the record last returned
	raw      []byte       // the head of the record
	message  []byte       // room for the HTTP header of one
	todo     *Fault       // the damage behind which the next record is to be looked for
	from     int64        // where to begin
	told     map[string]bool
}

// NewReader reads from where in stands. When it can seek, offsets are those of the file, and
// damage is looked into again without limit; in a pipe some 4 MiB back.
func NewReader(in io.Reader, o ReadOptions) *Reader {
	if o.MaxHead <= 0 {
		o.MaxHead = defaultMaxHead
	}
	if o.MaxFields <= 0 {
		o.MaxFields = defaultMaxFields
	}
	return &Reader{o: o, src: newSource(in), told: make(map[string]bool)}
}

// Next is the next record that can be read. The block of the one before is read to its end
// and verified, if that was not done. The error is io.EOF, or that of the input;
// faults of the file are reported instead.
func (r *Reader) Next() (*Record, error) {
	if r.block != nil {
		_, _ = io.Copy(io.Discard, r.block) // what is wrong with it was reported
		r.block = nil
	}
	for {
		if err := r.begin(); err != nil {
			return nil, err
		}
		if rec := r.readHead(); rec != nil {
			return rec, nil
		}
		if r.src.err != nil {
			return nil, r.src.err
		}
	}
}

// begin brings the reader to the first byte of a record.
func (r *Reader) begin() error {
	for {
		if r.src.err != nil {
			return r.src.err
		}
		if err := r.resume(); err != nil {
			return err
		}
		if r.inMember {
			return nil
		}
		r.start = r.src.offset()
		if n := r.src.padding(); n > 0 {
			r.oddity(r.start, "bytes between records that are only NULs and line ends")
			r.start += n
		}
		switch r.src.at() {
		case nothing:
			if r.src.err != nil {
				return r.src.err
			}
			return io.EOF
		case plain:
			r.form = plain
			return nil
		case member:
			r.form = member
			if err := r.openMember(); err == nil {
				return nil
			} else if r.src.err == nil {
				r.lose(kindOf(err), "no gzip member can be read", err, r.start+1)
			}
		default:
			r.lose(Garbage, "this is no record", nil, r.start+1)
		}
	}
}

// resume looks for the next record behind damage, and reports that.
func (r *Reader) resume() error {
	f := r.todo
	if f == nil {
		return nil
	}
	r.todo, r.inMember = nil, false
	if err := r.src.rewind(r.from); err != nil {
		return err
	}
	if err := r.src.scan(r.form); err != nil {
		return err
	}
	f.Skipped = r.src.offset() - f.Offset
	r.report(f)
	return nil
}

func (r *Reader) openMember() (err error) {
	if r.zr == nil {
		r.zr = new(gzip.Reader)
		r.inside = &countReader{in: r.zr}
		r.zbuf = bufio.NewReaderSize(r.inside, max(r.o.MaxHead, 64<<10))
	}
	if err := r.zr.Reset(r.src.br); err != nil {
		return err
	}
	r.zr.Multistream(false)
	r.inside.n = 0
	r.zbuf.Reset(r.inside)
	r.inMember = true
	return nil
}

// text is what the record is read from.
func (r *Reader) text() *bufio.Reader {
	if r.inMember {
		return r.zbuf
	}
	return r.src.br
}

// position is that of the next byte in the uncompressed bytes of the member.
func (r *Reader) position() int64 {
	if !r.inMember {
		return 0
	}
	return r.inside.n - int64(r.zbuf.Buffered())
}

// readHead reads a head and makes the record; nil when it cannot be used.
func (r *Reader) readHead() *Record {
	at := r.position()
	if r.inMember {
		if b, _ := r.zbuf.Peek(len(plainMagic)); formOf(b) != plain {
			r.leaveMember(Head, "the gzip member holds no record")
			return nil
		}
	}
	kind, err := r.rawHead()
	if err != nil {
		r.loseHead(kind, err)
		return nil
	}
	h, err := parseHead(string(r.raw), r.o.MaxFields)
	if err == nil && r.o.MaxBlock > 0 && h.size > r.o.MaxBlock {
		err, kind = fmt.Errorf("a block of %d bytes is more than the limit of %d", h.size, r.o.MaxBlock), TooLarge
	}
	if err != nil {
		r.loseHead(kind, err)
		return nil
	}
	for _, odd := range append(h.odd, h.lacks()...) {
		r.oddity(r.start, odd)
	}
	rec := &Record{Version: h.version, Fields: h.fields, Size: h.size, Offset: r.start, Inside: at, Compressed: r.inMember, Head: r.raw}
	r.block = r.newBlock(rec, &h)
	rec.Block = r.block
	return rec
}

var errHeadTooLong = errors.New("the head is longer than the limit")

// rawHead reads up to and with the empty line into raw.
func (r *Reader) rawHead() (Kind, error) {
	r.raw = r.raw[:0]
	for {
		line, err := r.text().ReadSlice('\n')
		if len(r.raw)+len(line) > r.o.MaxHead || err == bufio.ErrBufferFull {
			return TooLarge, errHeadTooLong
		}
		r.raw = append(r.raw, line...)
		if err != nil {
			return kindOf(err), err
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			return Head, nil
		}
	}
}

// kindOf tells an early end from wrong bytes.
func kindOf(err error) Kind {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Truncated
	}
	return Corrupt
}

// loseHead gives up a record whose head cannot be used.
func (r *Reader) loseHead(kind Kind, err error) {
	reason := map[Kind]string{Truncated: "the file ends within a head", Corrupt: "the head cannot be read", TooLarge: "the head cannot be used", Head: "the head cannot be used"}[kind]
	if kind == Truncated {
		err = nil
	}
	if r.inMember && (kind == Head || kind == TooLarge) {
		r.leaveMember(kind, reason+": "+err.Error())
		return
	}
	r.lose(kind, reason, err, r.start+1)
}

// leaveMember gives up the record within a sound member: the next one begins behind that, or
// in it.
func (r *Reader) leaveMember(kind Kind, reason string) {
	f := &Fault{Offset: r.start, Inside: r.position(), Kind: kind, Reason: reason}
	if r.nextInside(f) {
		r.report(f)
	}
}

// nextInside goes on to the next head within the member, or behind the member. When the member
// itself is damaged it gives that up, with the fault, and returns false.
func (r *Reader) nextInside(f *Fault) bool {
	for {
		b, err := r.zbuf.Peek(plausible)
		if i := bytes.Index(b, []byte("\n"+plainMagic)); i >= 1 && headAhead(b[:i+1], b[i+1:]) {
			_, _ = r.zbuf.Discard(i + 1) // it was peeked at
			return true
		}
		if err == io.EOF {
			_, _ = r.zbuf.Discard(len(b))
			r.inMember = false
			return true
		}
		if err != nil {
			f.Cause = err
			r.loseFault(f, r.start+1)
			return false
		}
		_, _ = r.zbuf.Discard(max(1, len(b)/2))
	}
}

// lose notes damage; the next record is looked for from an offset on.
func (r *Reader) lose(kind Kind, reason string, cause error, from int64) *Fault {
	f := &Fault{Offset: r.start, Kind: kind, Reason: reason, Cause: cause}
	r.loseFault(f, from)
	return f
}

func (r *Reader) loseFault(f *Fault, from int64) { r.todo, r.from = f, from }

// oddity reports a deviation, each once for a file.
func (r *Reader) oddity(offset int64, what string) {
	if !r.told[what] && len(r.told) < 100 {
		r.told[what] = true
		r.report(&Fault{Offset: offset, Kind: Deviation, Reason: what})
	}
}

func (r *Reader) report(f *Fault) {
	if r.o.Report != nil {
		r.o.Report(f)
	}
}

// A countReader counts what was read.
type countReader struct {
	in io.Reader
	n  int64
}

func (c *countReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err
}
