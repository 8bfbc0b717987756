package warc

import (
	"bytes"
	"io"
	"strings"
)

// A block is that of a record being read. Its end is io.EOF when everything that was sealed is
// as it was, and else the *Fault, so that nobody takes damaged bytes for sound ones.
type block struct {
	r       *Reader
	rec     *Record
	left    int64
	start   int64 // offset of its first byte, in an uncompressed file
	block   *seal
	payload *seal
	split   *splitter // of the payload of an HTTP message
	err     error     // from the end on
}

func (r *Reader) newBlock(rec *Record, h *head) *block {
	b := &block{r: r, rec: rec, left: h.size, start: r.src.offset()}
	if r.o.Unverified {
		return b
	}
	var err error
	if b.block, err = readSeal(FieldBlockDigest, h.fields.Get(FieldBlockDigest)); err != nil {
		r.oddity(rec.Offset, err.Error())
	}
	// The payload of a revisit record is elsewhere, and that of a segment incomplete.
	if kind := rec.Type(); kind == Revisit || kind == Continuation || rec.Fields.Get("WARC-Segment-Number") != "" {
		return b
	}
	if b.payload, err = readSeal(FieldPayloadDigest, h.fields.Get(FieldPayloadDigest)); err != nil {
		r.oddity(rec.Offset, err.Error())
	}
	if b.payload != nil && b.block != nil && bytes.Equal(b.payload.want, b.block.want) && !isHTTP(rec.Fields.Get(FieldContentType)) {
		b.payload = nil // one and the same
	}
	if b.payload != nil {
		name, _, _ := strings.Cut(b.payload.text, ":")
		b.split = &splitter{head: r.message[:0], body: b.payload.hash, inBody: !isHTTP(rec.Fields.Get(FieldContentType)), again: Algorithm(name)}
	}
	return b
}

// Read reads the block; behind its end it verifies it.
func (b *block) Read(p []byte) (int, error) {
	switch {
	case b.err != nil:
		return 0, b.err
	case b.left == 0:
		b.err = b.finish()
		return 0, b.err
	case len(p) == 0:
		return 0, nil
	}
	n, err := b.r.text().Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.verify(p[:n])
	if err != nil && n == 0 {
		b.err = b.broken(err)
		return 0, b.err
	}
	return n, nil
}

func (b *block) verify(p []byte) {
	if b.block != nil {
		b.block.hash.Write(p)
	}
	if b.split != nil {
		b.split.Write(p)
	}
}

// broken is a block that cannot be read to its end.
func (b *block) broken(err error) error {
	r := b.r
	if r.src.err != nil {
		return r.src.err
	}
	if r.inMember && err == io.EOF { // the member is whole and ends before the block does
		r.inMember = false
		return b.fault(Length, "the record ends before its Content-Length")
	}
	if kindOf(err) == Truncated {
		from := b.start
		if r.inMember {
			from = r.start + 1
		}
		return r.lose(Truncated, "the file ends within the record", nil, from)
	}
	return r.lose(Corrupt, "the gzip member is damaged", err, r.start+1)
}

// finish looks at what is behind the block, and whether it was what was sealed.
func (b *block) finish() error {
	r := b.r
	b.rec.missing = b.lineEnds()
	if r.src.err != nil {
		return r.src.err
	}
	if r.inMember {
		if err := b.endOfMember(); err != nil {
			return err
		}
	}
	unsealed := b.unsealed()
	if !r.inMember && !b.rec.Compressed {
		if err := b.endOfPlain(unsealed); err != nil {
			return err
		}
	}
	if !r.inMember {
		b.rec.end = r.src.offset()
	}
	if unsealed != "" {
		return b.fault(Digest, unsealed)
	}
	return io.EOF
}

// fault reports damage that needs no search for the next record.
func (b *block) fault(kind Kind, reason string) *Fault {
	f := &Fault{Offset: b.rec.Offset, Inside: b.rec.Inside, Kind: kind, Reason: reason}
	b.r.report(f)
	return f
}

// lineEnds takes the two line ends behind the block and returns how many of their bytes are
// not there. LF alone is taken too.
func (b *block) lineEnds() (missing int) {
	text := b.r.text()
	next, _ := text.Peek(4)
	switch {
	case bytes.HasPrefix(next, []byte("\r\n\r\n")):
		_, _ = text.Discard(4)
		return 0
	case bytes.HasPrefix(next, []byte("\n\n")):
		b.r.oddity(b.rec.Offset, "lines end in LF alone")
		_, _ = text.Discard(2)
		return 0
	}
	const both = "\r\n\r\n"
	n := 0
	for n < len(next) && next[n] == both[n] {
		n++
	}
	_, _ = text.Discard(n)
	return len(both) - n
}

// endOfMember sees to it that the member ends with the record, or goes on with another.
func (b *block) endOfMember() error {
	r := b.r
	next, err := r.zbuf.Peek(len(plainMagic))
	switch {
	case r.src.err != nil:
		return r.src.err
	case err == io.EOF && len(next) == 0:
		r.inMember = false
		b.shortEnd()
		return nil
	case formOf(next) == plain:
		r.oddity(b.rec.Offset, "several records in one gzip member")
		b.shortEnd()
		return nil
	case err == nil || err == io.EOF:
		f := &Fault{Offset: b.rec.Offset, Inside: b.rec.Inside, Kind: Length, Reason: "the record goes on behind its Content-Length"}
		if r.nextInside(f) {
			r.report(f)
		}
		return f
	}
	return b.damagedMember(err)
}

// damagedMember is one that is known to be damaged only behind the block. After a mere checksum
// the next one begins where it should, and need not be looked for.
func (b *block) damagedMember(err error) error {
	r := b.r
	if kindOf(err) == Truncated {
		return r.lose(Truncated, "the file ends within the record", nil, r.start+1)
	}
	if form := r.src.at(); form == member || form == nothing {
		r.inMember = false
		return b.fault(Corrupt, "the checksum of the gzip member is wrong")
	}
	return r.lose(Corrupt, "the gzip member is damaged", err, r.start+1)
}

func (b *block) shortEnd() {
	if b.rec.missing > 0 {
		b.r.oddity(b.rec.Offset, "no two line ends behind the record")
	}
}

// endOfPlain sees to it that a record, or the end, follows. When something else does and the
// digest says that the block is right, that is no record; else the Content-Length is wrong, and
// the next record may begin within the block.
func (b *block) endOfPlain(unsealed string) error {
	r := b.r
	next, _ := r.src.br.Peek(b.rec.missing + len(plainMagic))
	if formOf(next) != unknown || next[0] == 0 || next[0] == '\r' || next[0] == '\n' {
		b.shortEnd()
		return nil
	}
	if b.block == nil || unsealed != "" {
		return r.lose(Length, "the record does not end at its Content-Length", nil, b.start)
	}
	if formOf(next[min(len(next), b.rec.missing):]) == plain {
		_, _ = r.src.br.Discard(b.rec.missing) // it was peeked at
		b.fault(Garbage, "the line ends behind the record are damaged")
		return nil
	}
	end := r.src.offset()
	r.loseFault(&Fault{Offset: end, Kind: Garbage, Reason: "this is no record"}, end)
	return nil
}

// unsealed says which digest does not match, or "".
func (b *block) unsealed() string {
	if b.block.broken() {
		return "the block is not what was sealed: " + b.block.text
	}
	if b.split == nil {
		return ""
	}
	b.split.end()
	b.r.message = b.split.head
	whole := b.split.chunks != nil && bytes.Equal(b.split.chunks.to.Sum(nil), b.payload.want)
	if b.payload.broken() && !whole {
		return "the payload is not what was sealed: " + b.payload.text
	}
	return ""
}
