package warc

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// A Message is the HTTP message of a block: its header read, its body to be read.
type Message struct {
	Start  string // the first line
	Fields Fields
	Body   *bufio.Reader // as it went over the wire
}

// ErrNoMessage is a block of an HTTP content type without an HTTP header.
var ErrNoMessage = errors.New("no HTTP header")

// IsHTTP tells whether the block of a record is an HTTP message.
func (r *Record) IsHTTP() bool {
	return isHTTP(r.Fields.Get(FieldContentType)) || isHTTP(r.ContentType)
}

// ReadMessage reads the HTTP header of a block, of at most 1 MiB. It takes what servers send,
// not only what they should.
func ReadMessage(block io.Reader) (*Message, error) {
	m := &Message{Body: bufio.NewReader(block)}
	left := maxHTTPHead
	for {
		line, err := readLine(m.Body, left)
		left -= len(line)
		text := strings.TrimRight(line, "\r\n")
		switch {
		case left < 0, m.Start == "" && !strings.Contains(text, "HTTP/"):
			return nil, ErrNoMessage
		case m.Start == "":
			m.Start = text
		case text != "":
			name, value, _ := strings.Cut(text, ":")
			m.Fields = append(m.Fields, Field{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
		if err == io.EOF || err == nil && text == "" {
			return m, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// readLine reads a line, or somewhat more of it than most bytes.
func readLine(in *bufio.Reader, most int) (string, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if err != bufio.ErrBufferFull || len(line) > most {
			return string(line), err
		}
	}
}

// Status is the status code of a response, or 0.
func (m *Message) Status() int {
	f := strings.Fields(m.Start)
	if len(f) < 2 || !strings.HasPrefix(f[0], "HTTP/") {
		return 0
	}
	n, err := strconv.Atoi(f[1])
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// MediaType is the content type without its parameters, in lower case.
func (m *Message) MediaType() string { return MediaType(m.Fields.Get(FieldContentType)) }

// MediaType is a content type without its parameters, in lower case.
func MediaType(value string) string {
	kind, _, _ := strings.Cut(value, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// Payload is the body as it was meant: chunks put together, content codings undone. Of a
// block that is no HTTP message it is all of it. It ends like the block: with io.EOF, or with
// a *Fault when what was sealed is not what is there. How much comes out of a coding is not
// bounded; who keeps it must be.
func (r *Record) Payload() (io.Reader, error) {
	if !r.IsHTTP() {
		return r.Block, nil
	}
	m, err := ReadMessage(r.Block)
	if err != nil {
		return nil, err
	}
	return m.Payload()
}

// Payload is the body as it was meant, as that of its record.
func (m *Message) Payload() (io.Reader, error) {
	body, err := m.decoded()
	if err != nil {
		return nil, err
	}
	return &sealed{body, m.Body}, nil
}

// decoded undoes transfer and content codings. What only claims to have one is left alone, as
// many archives keep the header and store the body decoded.
func (m *Message) decoded() (io.Reader, error) {
	body := m.Body
	if strings.Contains(strings.ToLower(m.Fields.Get("Transfer-Encoding")), "chunked") && beginsChunk(body) {
		body = bufio.NewReader(httputil.NewChunkedReader(body))
	}
	codings := strings.Split(m.Fields.Get("Content-Encoding"), ",")
	for i := len(codings) - 1; i >= 0; i-- {
		next, err := decode(strings.ToLower(strings.TrimSpace(codings[i])), body)
		if err != nil {
			return nil, err
		}
		body = bufio.NewReader(next)
	}
	return body, nil
}

func beginsChunk(body *bufio.Reader) bool {
	b, _ := body.Peek(32)
	line, _, ok := bytes.Cut(b, []byte("\n"))
	size, _, _ := bytes.Cut(line, []byte(";"))
	_, err := strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 63)
	return ok && err == nil
}

func decode(coding string, body *bufio.Reader) (io.Reader, error) {
	start, _ := body.Peek(4)
	switch coding {
	case "", "identity", "none":
		return body, nil
	case "gzip", "x-gzip":
		if !bytes.HasPrefix(start, []byte(gzipMagic)) {
			return body, nil
		}
		return gzip.NewReader(body)
	case "deflate": // zlib by the standard, and bare from some servers
		if len(start) > 1 && start[0]&0x0f == 8 && (int(start[0])<<8|int(start[1]))%31 == 0 {
			return zlib.NewReader(body)
		}
		return flate.NewReader(body), nil
	case "br":
		return brotli.NewReader(body), nil
	case "zstd":
		if !bytes.HasPrefix(start, []byte("\x28\xb5\x2f\xfd")) {
			return body, nil
		}
		z, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return nil, err
		}
		return z, nil
	}
	return nil, fmt.Errorf("cannot decode the content coding %q", shorten(coding))
}

// A sealed reader reads the rest of the block behind its own end, for the seal.
type sealed struct {
	in   io.Reader
	rest io.Reader
}

func (s *sealed) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	if err == io.EOF && n == 0 {
		if _, broken := io.Copy(io.Discard, s.rest); broken != nil {
			return 0, broken
		}
	}
	if err == io.EOF && n > 0 {
		err = nil
	}
	return n, err
}
