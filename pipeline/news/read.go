package news

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"srpump/pipeline/warc"
)

// A Fault is something wrong at a place in a file.
type Fault struct {
	Offset int64 // of the record, in bytes
	Reason string
	// Lost tells that this cost a record or a story. What is the consequence of other damage, told
	// before, is not counted again.
	Lost  bool
	Cause error
}

// Error is the fault with its place.
func (f *Fault) Error() string { return fmt.Sprintf("at byte %d: %s", f.Offset, f.Reason) }

// Unwrap is the cause.
func (f *Fault) Unwrap() error { return f.Cause }

// A Reader reads stories from fragments and archives, compressed or not, with or without a warcinfo
// record. Page and metadata are brought together by WARC-Refers-To, in whatever order they come;
// where that is missing, as in older archives, a page belongs to the metadata next behind it. Damage
// costs the story it is in.
type Reader struct {
	records *warc.Reader
	report  func(*Fault)
	pages   waiting // responses without their metadata
	metas   waiting // metadata without their response
	last    string  // id of the response that was read last, if nothing came behind it
	hurt    bool    // there was damage since a response or metadata was read whole
}

// NewReader reads from where in stands; report is told of every fault, in the order of the file but
// for halves that stayed alone, and may be nil.
func NewReader(in io.Reader, report func(*Fault)) *Reader {
	r := &Reader{report: report}
	if report == nil {
		r.report = func(*Fault) {}
	}
	r.records = warc.NewReader(in, warc.ReadOptions{MaxBlock: MaxStory + 64<<10, Report: r.reported})
	return r
}

// reported passes on what is wrong with a record.
func (r *Reader) reported(f *warc.Fault) {
	if f.Damage() {
		r.pages.mark(r.last)
		r.hurt, r.last = true, ""
	}
	r.report(&Fault{f.Offset, f.String(), f.Damage(), f})
}

// Next is the next story. The error is io.EOF, or that of the input; faults of the file are
// reported instead.
func (r *Reader) Next() (*Story, error) {
	for {
		rec, err := r.records.Next()
		if err == io.EOF {
			r.end()
		}
		if err != nil {
			return nil, err
		}
		var s *Story
		switch rec.Type() {
		case warc.Response:
			s = r.response(rec)
		case warc.Metadata:
			s = r.metadata(rec)
		}
		if s != nil {
			return s, nil
		}
	}
}

// block reads the block of a record; nil when it is damaged, which was reported.
func block(rec *warc.Record) []byte {
	const most = 1 << 20 // is made room for before it is there
	b := bytes.NewBuffer(make([]byte, 0, min(rec.Size, most)+bytes.MinRead))
	if _, err := b.ReadFrom(rec.Block); err != nil {
		return nil
	}
	return b.Bytes()
}

func (r *Reader) response(rec *warc.Record) *Story {
	r.last = ""
	id := rec.ID()
	text := block(rec)
	if text == nil {
		if s := r.metas.take(id); s != nil {
			s.hurt = true
			r.alone([]half{*s}, "a story without its page")
		}
		return nil
	}
	r.hurt = false
	page, err := body(text)
	if err != nil {
		r.report(&Fault{rec.Offset, "the page cannot be read: " + err.Error(), true, err})
		r.hurt = true
		return nil
	}
	if s := r.metas.take(id); s != nil {
		return joined(s.story, page, id)
	}
	r.last = id
	r.alone(r.pages.add(half{id: id, uri: rec.URI(), offset: rec.Offset, page: page, size: len(page)}), "a page without its story")
	return nil
}

// body is the page in an HTTP message; a block that is none is all page.
func body(block []byte) ([]byte, error) {
	m, err := warc.ReadMessage(bytes.NewReader(block))
	if errors.Is(err, warc.ErrNoMessage) {
		return block, nil
	}
	if err != nil {
		return nil, err
	}
	payload, err := m.Payload()
	if err != nil {
		return nil, err
	}
	page, err := io.ReadAll(io.LimitReader(payload, MaxStory+1))
	if err == nil && len(page) > MaxStory {
		err = ErrTooLarge
	}
	return page, err
}

func (r *Reader) metadata(rec *warc.Record) *Story {
	if t := rec.Fields.Get(warc.FieldContentType); t != "" && !strings.Contains(strings.ToLower(t), "json") {
		return nil // of another writer
	}
	last, hurt := r.last, r.hurt
	ref, offset := rec.Fields.Get(warc.FieldRefersTo), rec.Offset
	text := block(rec)
	r.last = ""
	if text == nil {
		r.pages.take(cmp.Or(ref, last))
		return nil
	}
	r.hurt = false
	s, err := ParseJSON(text)
	if err != nil {
		r.report(&Fault{offset, "the metadata cannot be read: " + err.Error(), true, err})
		r.pages.take(cmp.Or(ref, last))
		return nil
	}
	s.ID, s.Offset = rec.ID(), offset
	s.Date, _ = rec.Date() // one that cannot be read is not known
	return r.pair(s, half{id: ref, uri: rec.URI(), offset: offset, story: s, size: len(text), hurt: hurt}, last)
}

// pair finds the page of a story. One that refers to none, and has none before it, was not
// fetched yet.
func (r *Reader) pair(s *Story, h half, last string) *Story {
	if h.id == "" {
		page := r.pages.get(last)
		if h.hurt {
			r.alone([]half{h}, "a story without its page")
			return nil
		}
		if page == nil || page.uri != h.uri {
			return s
		}
		h.id = last
	}
	if page := r.pages.take(h.id); page != nil {
		return joined(s, page.page, h.id)
	}
	r.alone(r.metas.add(h), "a story without its page")
	return nil
}

func joined(s *Story, page []byte, id string) *Story {
	if page == nil {
		page = []byte{}
	}
	s.Page, s.PageID, s.PageEncoding = page, id, s.HTTP.Encoding
	return s
}

// alone reports halves that nothing came for.
func (r *Reader) alone(all []half, what string) {
	for _, h := range all {
		f := &Fault{h.offset, what, true, nil}
		if h.hurt {
			f.Reason, f.Lost = what+", which was damaged", false
		}
		r.report(f)
	}
}

// end reports what still waits.
func (r *Reader) end() {
	r.alone(r.pages.all, "a page without its story")
	r.alone(r.metas.all, "a story without its page")
	r.pages, r.metas = waiting{}, waiting{}
}

// ErrPickle is a body in the format of Python's pickle, which runs what it holds.
var ErrPickle = errors.New("pickle body refused")

// Parse reads the one story in the body of a message or in a file of a spool. Unlike a Reader it
// takes no damage: the error is what is wrong, ErrPickle, or ErrTooLarge.
func Parse(body []byte) (*Story, error) {
	if len(body) > 0 && body[0] == 0x80 {
		return nil, ErrPickle
	}
	if len(body) > MaxStory {
		return nil, ErrTooLarge
	}
	var fault error
	r := NewReader(bytes.NewReader(body), func(f *Fault) {
		if f.Lost && fault == nil {
			fault = f
		}
	})
	s, err := r.Next()
	if err == nil {
		if _, err = r.Next(); err == nil {
			return nil, errors.New("the fragment holds several stories")
		}
	}
	switch {
	case fault != nil:
		return nil, fmt.Errorf("the fragment is damaged: %w", fault)
	case s == nil:
		return nil, errors.New("the fragment holds no story")
	case err != io.EOF:
		return nil, err
	}
	return s, nil
}
