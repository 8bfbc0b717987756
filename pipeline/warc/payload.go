package warc

import (
	"bytes"
	"hash"
	"strconv"
	"strings"
)

// maxHTTPHead bounds the HTTP header of a block, in bytes; what has none within is all payload.
const maxHTTPHead = 1 << 20

// isHTTP tells whether a block of this content type is a side of an HTTP exchange.
func isHTTP(contentType string) bool {
	const http = "application/http"
	return len(contentType) >= len(http) && strings.EqualFold(contentType[:len(http)], http)
}

// A splitter hashes the payload of an HTTP message that is written to it: what follows
// the empty line. Of a chunked body the chunks are put together for a second hash, as
// some writers seal the one and some the other.
type splitter struct {
	head   []byte
	body   hash.Hash
	inBody bool
	chunks *dechunker
	again  Algorithm // of the second hash; "" makes none
}

func (s *splitter) Write(p []byte) (int, error) {
	n := len(p)
	if !s.inBody {
		p = s.take(p)
	}
	if len(p) > 0 {
		s.body.Write(p)
		if s.chunks != nil {
			s.chunks.write(p)
		}
	}
	return n, nil
}

// take adds to the header and returns what of p is behind it.
func (s *splitter) take(p []byte) []byte {
	if end := endOfHTTPHead(p, 0); len(s.head) == 0 && end >= 0 { // as it mostly is
		s.begin(p[:end])
		return p[end:]
	}
	before := len(s.head)
	s.head = append(s.head, p...)
	switch end := endOfHTTPHead(s.head, max(0, before-3)); {
	case end >= 0:
		s.begin(s.head[:end])
		return p[end-before:]
	case len(s.head) > maxHTTPHead:
		s.end()
	}
	return nil
}

// begin is at the end of the header.
func (s *splitter) begin(head []byte) {
	s.inBody = true
	if s.again != "" && bytes.Contains(bytes.ToLower(head), []byte("chunked")) {
		s.chunks = &dechunker{to: s.again.newHash()}
	}
}

// end takes what never had an empty line for payload.
func (s *splitter) end() {
	if !s.inBody {
		s.inBody = true
		s.body.Write(s.head)
	}
}

// endOfHTTPHead is the index behind the empty line, or -1; what is before from was looked at.
func endOfHTTPHead(b []byte, from int) int {
	for i := from; ; {
		j := bytes.IndexByte(b[i:], '\n')
		if j < 0 {
			return -1
		}
		i += j + 1
		if i < len(b) && b[i] == '\n' {
			return i + 1
		}
		if i+1 < len(b) && b[i] == '\r' && b[i+1] == '\n' {
			return i + 2
		}
	}
}

// A dechunker puts the chunks of RFC 9112 §7.1 together. What is no chunk ends it.
type dechunker struct {
	to   hash.Hash
	left int64 // of the chunk
	line []byte
	over bool
	gap  int // bytes of the line end behind a chunk still to come
}

func (d *dechunker) write(p []byte) {
	for len(p) > 0 && !d.over {
		switch {
		case d.left > 0:
			n := min(int64(len(p)), d.left)
			d.to.Write(p[:n])
			p, d.left = p[n:], d.left-n
			if d.left == 0 {
				d.gap = 2
			}
		case d.gap > 0:
			if d.gap--; p[0] == '\n' {
				d.gap = 0
			}
			p = p[1:]
		default:
			p = d.sizeLine(p)
		}
	}
}

// sizeLine reads the line before a chunk, of at most 1 KiB.
func (d *dechunker) sizeLine(p []byte) []byte {
	i := bytes.IndexByte(p, '\n')
	if i < 0 {
		d.line = append(d.line, p...)
		d.over = len(d.line) > 1<<10
		return nil
	}
	line := append(d.line, p[:i]...)
	d.line = d.line[:0]
	size, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(";"))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(size)), 16, 64)
	d.left, d.over = n, err != nil || n <= 0
	return p[i+1:]
}
