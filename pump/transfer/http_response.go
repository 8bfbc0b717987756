package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// accept makes the body of a response, or the error it stands for.
func accept(resp *http.Response, r Request) (*Body, error) {
	v := validator(resp.Header)
	if err := classify(resp, r); err != nil {
		return nil, err
	}
	if r.IfUnchanged.Differs(v) {
		return nil, fail(r.URL, Changed, errors.New("the source has changed"))
	}
	size := resp.ContentLength
	if r.Partial() {
		n, err := checkRange(resp.Header.Get("Content-Range"), size, r)
		if err != nil {
			return nil, fail(r.URL, Range, err)
		}
		size = n
	}
	return &Body{
		ReadCloser: &httpBody{body: resp.Body, url: r.URL, left: size},
		Size:       size, Validator: v,
	}, nil
}

// classify makes an error of every status but the one the request calls for.
func classify(resp *http.Response, r Request) error {
	code := resp.StatusCode
	switch {
	case r.Partial() && code == http.StatusPartialContent, !r.Partial() && code == http.StatusOK:
		return nil
	case code == http.StatusOK && r.IfUnchanged != (Validator{}):
		return fail(r.URL, Changed, errors.New("the source has changed"))
	case code == http.StatusOK:
		return fail(r.URL, Range, errors.New("the server sends no parts of files"))
	}
	e := failStatus(r.URL, code, Temporary)
	if code == http.StatusBadRequest && resp.TLS != nil {
		e.Err = wantsCertificate(e.Err, resp.Body)
	}
	switch code {
	case http.StatusNotFound, http.StatusGone:
		e.Class = NotFound
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		e.Class = Forbidden
	case http.StatusRequestedRangeNotSatisfiable:
		e.Class = Range
	case http.StatusPreconditionFailed:
		e.Class = Changed
	}
	e.RetryAfter = retryAfter(resp.Header.Get("Retry-After"))
	return e
}

// wantsCertificate adds what to do to a refusal by a server that let the handshake pass without a certificate of
// ours and says in its answer, as nginx does, that it wanted one.
func wantsCertificate(err error, body io.Reader) error {
	text, _ := io.ReadAll(io.LimitReader(body, 4096)) // what is not read says nothing
	if !bytes.Contains(text, []byte("SSL certificate")) {
		return err
	}
	return fmt.Errorf("%w (the server wants a certificate of ours: client_cert= in credentials.conf)", err)
}

// retryAfter reads the header of that name, in seconds or as a date by the clock of this host.
func retryAfter(s string) time.Duration {
	if n, err := strconv.Atoi(s); err == nil {
		return time.Duration(max(0, min(n, 86400))) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil {
		return max(0, min(time.Until(t), 24*time.Hour))
	}
	return 0
}

func validator(h http.Header) Validator {
	v := Validator{ETag: h.Get("ETag")}
	if t, err := http.ParseTime(h.Get("Last-Modified")); err == nil {
		v.ModTime = t
	}
	return v
}

// checkRange holds a 206 to what was asked: the first byte, the number of
// bytes, and a Content-Length that agrees. It returns the size of the body.
func checkRange(contentRange string, length int64, r Request) (int64, error) {
	first, last, err := parseRange(contentRange)
	if err != nil {
		return 0, err
	}
	n := last - first + 1
	if first != r.Offset || r.Length >= 0 && n != r.Length || length >= 0 && length != n {
		return 0, fmt.Errorf("asked for %q, got %.60q with %d bytes", rangeOf(r), contentRange, length)
	}
	return n, nil
}

func parseRange(s string) (first, last int64, err error) {
	span, ok := strings.CutPrefix(s, "bytes ")
	span, _, slash := strings.Cut(span, "/")
	a, b, dash := strings.Cut(span, "-")
	first, err1 := strconv.ParseInt(a, 10, 64)
	last, err2 := strconv.ParseInt(b, 10, 64)
	if !ok || !slash || !dash || err1 != nil || err2 != nil || first < 0 || last < first {
		return 0, 0, fmt.Errorf("got a part with the Content-Range %.60q", s)
	}
	return first, last, nil
}

// httpBody holds a body to its announced length and names the URL in errors.
type httpBody struct {
	body io.ReadCloser
	url  string
	left int64 // bytes still owed, below zero when unknown
}

func (b *httpBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if b.left >= 0 {
		if b.left -= int64(n); b.left < 0 {
			return n, fail(b.url, Temporary, errors.New("the server sent more than it said"))
		}
	}
	switch {
	case err == nil:
		return n, nil
	case err != io.EOF:
		return n, fail(b.url, Temporary, err)
	case b.left > 0:
		return n, fail(b.url, Temporary, fmt.Errorf("%d bytes short: %w", b.left, io.ErrUnexpectedEOF))
	}
	return n, io.EOF
}

func (b *httpBody) Close() error { return b.body.Close() }
