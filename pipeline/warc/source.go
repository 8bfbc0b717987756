package warc

import (
	"bufio"
	"bytes"
	"io"

	"github.com/klauspost/compress/gzip"
)

// window is how far a source that cannot seek can be wound back, in bytes, and with that how
// far behind the beginning of a damaged record the next is found again; half of it is sure.
const window = 8 << 20

// buffered is how much is read at once, in bytes; behind damage, of which there may be more,
// it begins with little.
const (
	buffered = 256 << 10
	little   = 4 << 10
)

// A source is the bytes of a file, with their offsets, that can be wound back.
type source struct {
	in   io.Reader
	seek io.Seeker // nil for a pipe
	br   *bufio.Reader
	next int64  // offset of what the buffer is filled with next
	most int    // how much it is
	kept []byte // of a pipe: what was read last
	pos  int    // in kept: what is behind it is to be read again
	err  error  // of in, other than io.EOF
}

func newSource(in io.Reader) *source {
	s := &source{in: in, most: buffered}
	if seeker, ok := in.(io.Seeker); ok {
		if at, err := seeker.Seek(0, io.SeekCurrent); err == nil {
			s.seek, s.next = seeker, at
		}
	}
	s.br = bufio.NewReaderSize(readFunc(s.fill), buffered)
	return s
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func (s *source) fill(p []byte) (n int, err error) {
	p = p[:min(len(p), s.most)]
	s.most = min(2*s.most, buffered)
	if s.pos < len(s.kept) {
		n = copy(p, s.kept[s.pos:])
	} else if n, err = s.in.Read(p); s.seek == nil {
		s.keep(p[:n])
	}
	if s.seek == nil {
		s.pos += n
	}
	s.next += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// keep remembers what came out of a pipe.
func (s *source) keep(p []byte) {
	if len(s.kept)+len(p) > window {
		s.kept = append(s.kept[:0], s.kept[len(s.kept)-window/2:]...)
		s.pos = len(s.kept)
	}
	s.kept = append(s.kept, p...)
}

// offset is that of the next byte.
func (s *source) offset() int64 { return s.next - int64(s.br.Buffered()) }

// rewind goes back to an offset, or as near as what was kept allows.
func (s *source) rewind(to int64) error {
	if s.seek != nil {
		if _, err := s.seek.Seek(to, io.SeekStart); err != nil {
			return err
		}
		s.next = to
	} else {
		back := min(s.next-to, int64(s.pos))
		s.pos -= int(back)
		s.next -= back
	}
	s.most = little
	s.br.Reset(readFunc(s.fill))
	return nil
}

// at tells how the next bytes begin: a gzip member, a plain record, or nothing known.
func (s *source) at() form {
	b, _ := s.br.Peek(len(plainMagic)) // what is wrong with the rest shows when it is read
	return formOf(b)
}

// A form is how a record is laid down in a file.
type form int

const (
	unknown form = iota
	member
	plain
	nothing // the end
)

const (
	gzipMagic  = "\x1f\x8b\x08"
	plainMagic = "WARC/"
)

func formOf(b []byte) form {
	switch {
	case len(b) == 0:
		return nothing
	case begins(b, gzipMagic):
		return member
	case begins(b, plainMagic):
		return plain
	}
	return unknown
}

// begins tells whether bytes begin with a magic number, or are its beginning.
func begins(b []byte, magic string) bool {
	n := min(len(b), len(magic))
	return string(b[:n]) == magic[:n]
}

// padding passes over NULs and line ends, and counts them.
func (s *source) padding() (n int64) {
	for {
		b, _ := s.br.Peek(1)
		if len(b) == 0 || b[0] != 0 && b[0] != '\r' && b[0] != '\n' {
			return n
		}
		_, _ = s.br.Discard(1) // it was peeked at
		n++
	}
}

// plausible is how much of a member or head is looked at to tell it from chance, in bytes.
const plausible = 1 << 10

// scan goes on to where the next record plausibly begins, of the form asked for, or of any
// when that is unknown; or to the end.
func (s *source) scan(want form) error {
	const behind = 4 // bytes before a beginning that tell whether it is one
	size := little
	for from := 0; ; from = behind {
		b, err := s.br.Peek(size)
		size = min(2*size, buffered)
		if len(b) <= from {
			_, _ = s.br.Discard(len(b)) // they were peeked at
			return s.err
		}
		whole := len(b) - plausible
		if err != nil { // all there is
			whole = len(b)
		}
		if i := findStart(b, from, whole, want); i >= 0 {
			_, _ = s.br.Discard(i)
			return nil
		}
		_, _ = s.br.Discard(max(1, whole-behind))
	}
}

// findStart is the index of the first plausible beginning between from and end, or -1.
func findStart(b []byte, from, end int, want form) int {
	for i := from; i < end; i++ {
		next := nextOf(b[i:], want)
		if next < 0 || i+next >= end {
			return -1
		}
		i += next
		ahead := b[i:min(len(b), i+plausible)]
		if b[i] == gzipMagic[0] && memberAhead(ahead) || b[i] == plainMagic[0] && headAhead(b[:i], ahead) {
			return i
		}
	}
	return -1
}

func nextOf(b []byte, want form) int {
	zipped, text := -1, -1
	if want != plain {
		zipped = bytes.Index(b, []byte(gzipMagic))
	}
	if want != member {
		text = bytes.Index(b, []byte(plainMagic))
	}
	if zipped < 0 || text >= 0 && text < zipped {
		return text
	}
	return zipped
}

// memberAhead tells whether a gzip member with a record in it begins here.
func memberAhead(b []byte) bool {
	if len(b) < 18 || b[3]&0xe0 != 0 {
		return false
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return false
	}
	var first [len(plainMagic)]byte
	_, err = io.ReadFull(z, first[:])
	return err == nil && string(first[:]) == plainMagic
}

// headAhead tells whether a head begins here: behind the end of a record, and with a field
// every record has.
func headAhead(before, b []byte) bool {
	if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n\r\n")) && !bytes.HasSuffix(before, []byte("\n\n")) {
		return false
	}
	line, rest, ok := bytes.Cut(b, []byte("\n"))
	return ok && len(line) <= len(V10)+3 && bytes.Contains(bytes.ToLower(rest), []byte("warc-"))
}
