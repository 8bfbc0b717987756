package warc

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// coded is a body in a content coding.
func coded(t *testing.T, coding, body string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip", "X-Gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "deflate, bare":
		w, _ = flate.NewWriter(&b, 6)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, _ = zstd.NewWriter(&b)
	default:
		return body
	}
	_, err := io.WriteString(w, body)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func chunked(body string) string {
	var b strings.Builder
	for len(body) > 0 {
		n := min(len(body), 7)
		fmt.Fprintf(&b, "%X;x=y\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return b.String() + "0\r\n\r\n"
}

// payloadOf writes a response and reads its payload back.
func payloadOf(t *testing.T, header, body string) (string, error) {
	t.Helper()
	file, _ := written(t, WriteOptions{}, New(V10, Response, "u:", at).With("HTTP/1.1 200 OK\r\n"+header+"\r\n"+body))
	rec, err := NewReader(bytes.NewReader(file), ReadOptions{}).Next()
	if err != nil {
		t.Fatal(err)
	}
	in, err := rec.Payload()
	if err != nil {
		return "", err
	}
	got, err := io.ReadAll(in)
	return string(got), err
}

// The payload is what the server meant, however it was sent, and also when the archive keeps
// the headers of what it has decoded.
func TestPayload(t *testing.T) {
	const body = "<html>a page, a page, a page, a page</html>"
	for _, coding := range []string{"", "identity", "gzip", "X-Gzip", "deflate", "deflate, bare", "br", "zstd"} {
		name, _, _ := strings.Cut(coding, ",")
		header := "Content-Encoding: " + name + "\r\n"
		if got, err := payloadOf(t, header, coded(t, coding, body)); err != nil || got != body {
			t.Errorf("%s: %q, %v", coding, got, err)
		}
		if got, err := payloadOf(t, "transfer-encoding: Chunked\r\n"+header, chunked(coded(t, coding, body))); err != nil || got != body {
			t.Errorf("%s in chunks: %q, %v", coding, got, err)
		}
	}
	for _, header := range []string{"Content-Encoding: gzip\r\n", "Content-Encoding: zstd\r\n", "Transfer-Encoding: chunked\r\n"} {
		if got, err := payloadOf(t, header, body); err != nil || got != body {
			t.Errorf("decoded already, %q: %q, %v", header, got, err)
		}
	}
	if got, err := payloadOf(t, "Content-Encoding: br, gzip\r\n", coded(t, "gzip", coded(t, "br", body))); err != nil || got != body {
		t.Errorf("two codings: %q, %v", got, err)
	}
	if _, err := payloadOf(t, "Content-Encoding: rot13\r\n", body); err == nil || !strings.Contains(err.Error(), "rot13") {
		t.Errorf("an unknown coding: %v", err)
	}
	if _, err := payloadOf(t, "Content-Encoding: gzip\r\n", coded(t, "gzip", body)[:20]); err == nil {
		t.Error("half a body passes for one")
	}
}

// A payload that is read to its end is verified like the block.
func TestPayloadIsVerified(t *testing.T) {
	r := New(V10, Response, "u:", at).With("HTTP/1.1 200 OK\r\n\r\nwhole")
	file, _ := written(t, WriteOptions{Plain: true}, r)
	file = bytes.Replace(file, []byte("whole"), []byte("other"), 1)
	rec, err := NewReader(bytes.NewReader(file), ReadOptions{}).Next()
	if err != nil {
		t.Fatal(err)
	}
	in, err := rec.Payload()
	if err != nil {
		t.Fatal(err)
	}
	var f *Fault
	if _, err := io.ReadAll(in); !errors.As(err, &f) || f.Kind != Digest {
		t.Error(err)
	}
}

// A digest may be of the chunks or of what is in them: both are in use.
func TestChunkedDigest(t *testing.T) {
	const body = "<html>a page</html>"
	for what, sealed := range map[string]string{"as sent": chunked(body), "put together": body, "neither": "x"} {
		r := New(V10, Response, "u:", at).With("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(body))
		r.Fields.Add(FieldPayloadDigest, SHA1.seal(sum(sealed), false))
		file, _ := written(t, WriteOptions{}, r)
		all, faults := readAll(t, bytes.NewReader(file), ReadOptions{})
		if len(all) != 1 || (len(faults) == 0) != (what != "neither") {
			t.Errorf("%s: %v", what, faults)
		}
	}
}

// The header is found, and the payload digested, however the bytes come in pieces.
func TestSplitterPieces(t *testing.T) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked("some body\r\n\r\nand more"), "HTTP/1.1 200 OK\n\nbody", "\r\n\r\nbody", "no header at all", "HTTP/1.1 200 OK\r\nA: b\r\n",
	} {
		var want, whole []byte
		for size := len(text); size > 0; size-- {
			s := &splitter{body: SHA1.newHash(), again: SHA1}
			for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
				io.WriteString(s, rest[:min(size, len(rest))])
			}
			s.end()
			var put []byte
			if s.chunks != nil {
				put = s.chunks.to.Sum(nil)
			}
			if size == len(text) {
				want, whole = s.body.Sum(nil), put
			}
			if !bytes.Equal(s.body.Sum(nil), want) || !bytes.Equal(put, whole) {
				t.Errorf("%q in pieces of %d: another digest", text, size)
			}
		}
	}
}

// What servers send instead of HTTP is read as far as it goes.
func TestMessages(t *testing.T) {
	for text, want := range map[string]int{
		"HTTP/1.1 404 Not Found\r\n\r\n": 404, "HTTP/2 200\r\n\r\n": 200, "HTTP/1.0 None HUH?\r\n\r\n": 0, "HTTP/1.1 200 OK": 200, "GET / HTTP/1.1\r\n\r\n": 0, "HTTP/1.1 302\nLocation: x\n\n": 302,
	} {
		if m, err := ReadMessage(strings.NewReader(text)); err != nil || m.Status() != want {
			t.Errorf("%q: %v, %v", text, m, err)
		}
	}
	for _, text := range []string{"", "HTTP/1.1 200 " + strings.Repeat("x", 5*maxHTTPHead), "ICY 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", maxHTTPHead)} {
		if _, err := ReadMessage(strings.NewReader(text)); !errors.Is(err, ErrNoMessage) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
