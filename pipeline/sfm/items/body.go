package items

import (
	"bytes"
	"errors"
	"io"

	"srpump/pipeline/warc"
)

// The bounds of what one record costs.
const (
	maxDocument = 64 << 20 // bytes of a document, or of a line, unless the reader has another bound
	maxPayload  = 8 << 30  // bytes of a payload, decoded
)

// A page is one record while it is read.
type page struct {
	target target
	rec    *warc.Record
	media  string // type of the payload
	line   int    // of the payload, from 1
	batch  []Item // of the document at hand
	yield  func(Item) error
	report func(Damage)
	lines  *lines
	asked  bool // the file, or who reads it, says that it is of this platform
	// cut is the record of a stream, which has no end of its own: what is wrong there is no damage.
	cut bool
	// last is what was wrong, as long as nothing came behind it: when the record ends too early it is
	// that, and not told of twice.
	last *Damage
}

// emit gives an item out once its document is read; one without an id is none.
func (p *page) emit(i Item) {
	p.tell()
	if i.ID != "" {
		p.batch = append(p.batch, i)
	}
}

// damaged reports a fault at the line at hand.
func (p *page) damaged(line int, reason string) {
	p.tell()
	p.last = &Damage{p.rec.Offset, line, p.target.uri, reason}
}

// tell reports what was wrong.
func (p *page) tell() {
	if p.last != nil && p.report != nil {
		p.report(*p.last)
	}
	p.last = nil
}

// read reads a record of a format.
func (r *Reader) read(f format, rec *warc.Record, t target, yield func(Item) error) error {
	p := &page{target: t, rec: rec, media: warc.MediaType(rec.Fields.Get(warc.FieldContentType)), yield: yield, report: r.Report, lines: &r.lines,
		asked: r.asked || r.about.harvest != "", cut: rec.Fields.Get(warc.FieldTruncated) == "time"}
	body := rec.Block
	if rec.IsHTTP() {
		m, err := warc.ReadMessage(rec.Block)
		if err != nil {
			return p.ended(err)
		}
		if m.Status()/100 != 2 {
			return nil
		}
		p.media = m.MediaType()
		if body, err = m.Payload(); err != nil {
			return p.ended(err)
		}
	}
	body = &io.LimitedReader{R: body, N: maxPayload}
	if f.body != nil {
		return p.ended(f.body(p, body))
	}
	return p.ended(p.json(f, body))
}

// A stop is an error of the one who takes the items.
type stop struct{ error }

// ended reports what ended a record early; the rest of its block is passed over.
func (p *page) ended(err error) error {
	var s stop
	var fault *warc.Fault
	switch {
	case errors.As(err, &s):
		return s.error
	case errors.As(err, &fault): // its reader tells of a fault
		return nil
	case p.cut && (err == nil || errors.Is(err, io.ErrUnexpectedEOF)):
		return nil
	case err != nil:
		p.damaged(0, err.Error())
	}
	p.tell()
	return nil
}

// flush yields the items of a document.
func (p *page) flush() error {
	for i := range p.batch {
		if err := p.yield(p.batch[i]); err != nil {
			return stop{err}
		}
	}
	p.batch = p.batch[:0]
	return nil
}

// document reads one value. What it yields stands alone: its bytes are not used again.
func (p *page) document(f format, text []byte) error {
	p.batch = p.batch[:0]
	c := &cursor{b: text}
	f.document(p, c)
	return c.end()
}

// oneLine reads one line, keeps what could be read of a damaged one, and reports that.
func (p *page) oneLine(f format, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	err := p.document(f, text)
	if stopped := p.flush(); stopped != nil {
		return stopped
	}
	if err != nil {
		p.damaged(p.line, "it cannot be read as JSON: "+err.Error())
	}
	return nil
}

// json reads a body that is one document on its first line, or a document on each line, or,
// when the first line is none, one document on several.
func (p *page) json(f format, body io.Reader) error {
	p.lines.reset(body)
	first, err := p.firstLine()
	switch {
	case len(first) == 0:
		return ignoreEOF(err)
	case first[0] == '<':
		return errors.New("it is a page of HTML or XML, and no JSON")
	case p.document(f, first) != nil:
		if err, done := p.whole(f, first, err); done {
			return err
		}
	default:
		if stopped := p.flush(); stopped != nil {
			return stopped
		}
	}
	for err == nil {
		var text []byte
		text, err = p.lines.next()
		p.line++
		if stopped := p.oneLine(f, text); stopped != nil {
			return stopped
		}
	}
	return ignoreEOF(err)
}

// firstLine is the first line that is not empty.
func (p *page) firstLine() (text []byte, err error) {
	for err == nil && len(text) == 0 {
		text, err = p.lines.next()
		p.line++
	}
	return text, err
}

// whole reads all of a body whose first line is no document. When others are, it is taken line
// by line, and, if there is more than is to be kept, done is false.
func (p *page) whole(f format, first []byte, err error) (_ error, done bool) {
	text := append([]byte(nil), first...)
	for err == nil && len(text) < p.lines.most {
		var next []byte
		next, err = p.lines.next()
		text = append(append(text, '\n'), next...)
	}
	if err != nil && (p.document(f, text) == nil || !hasDocuments(text)) {
		p.line = 1
		if stopped := p.oneLine(f, text); stopped != nil {
			return stopped, true
		}
		return ignoreEOF(err), true
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if stopped := p.oneLine(f, line); stopped != nil {
			return stopped, true
		}
		p.line++
	}
	p.line--
	return ignoreEOF(err), err != nil
}

// hasDocuments tells whether one of the lines behind the first is an object by itself.
func hasDocuments(text []byte) bool {
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	for line := range bytes.SplitSeq(rest, []byte("\n")) {
		if len(line) > 2 && line[0] == '{' {
			c := &cursor{b: line}
			if c.skip(); c.end() == nil {
				return true
			}
		}
	}
	return false
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
