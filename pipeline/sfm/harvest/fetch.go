package harvest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"srpump/pipeline/warc"
)

// A Request is what is asked of a server.
type Request struct {
	Method string // "" is GET
	URL    string
	Header http.Header
	Body   []byte
	// MaxBody is how many bytes of the decoded body, and of the answer on the wire, are taken;
	// 0 is 64 MiB.
	MaxBody int64
	// Tries is how often it is asked in all while the server cannot; 0 is as often as all are.
	Tries int
	// Sign, when it is not nil, is given each request before it is sent: the next try of one may need
	// another signature.
	Sign func(*http.Request)
	// Allow may refuse an address before anything is sent to it; nil takes all.
	Allow func(netip.Addr) error
	// Seen may say that a payload, by its digest such as "sha1:…" in hexadecimal, was recorded before:
	// then only that it came again is. nil records everything.
	Seen func(digest, url string) (first *warc.Record)
}

// An Answer is what a server has answered. It is recorded.
type Answer struct {
	URL    string
	Status int
	Header http.Header
	Body   []byte // decoded
	// Cut tells that there was more than is taken; what was taken is recorded as truncated.
	Cut bool
	// Record is the response record without its block, and Digest that of its payload.
	Record *warc.Record
	Digest string
}

// A StatusError is an answer other than what was asked for, when asking again did not help.
type StatusError struct {
	URL    string // without secrets
	Status int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the server answers %d %s to %q", e.Status, http.StatusText(e.Status), e.URL)
}

const defaultMaxBody = 64 << 20

// userAgent is said where a type says nothing.
const userAgent = "srpump (sfm_harvest)"

func (q *Request) http() (*http.Request, error) {
	req, err := http.NewRequest(cmp.Or(q.Method, http.MethodGet), q.URL, bytes.NewReader(q.Body))
	if err != nil {
		return nil, err
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" || req.URL.Host == "" {
		return nil, fmt.Errorf("%q is no address of the web", req.URL.Redacted())
	}
	if len(q.Body) == 0 {
		req.Body, req.ContentLength = nil, 0
	}
	if q.Header != nil {
		req.Header = q.Header.Clone()
	}
	for name, value := range map[string]string{"User-Agent": userAgent, "Accept-Encoding": "gzip", "Accept": "*/*"} {
		if _, said := req.Header[name]; !said {
			req.Header.Set(name, value)
		}
	}
	if q.Sign != nil {
		q.Sign(req)
	}
	return req, nil
}

// Get asks for an address. See Fetch.
func (w *Walk) Get(ctx context.Context, url string, header http.Header) (*Answer, error) {
	return w.Fetch(ctx, Request{URL: url, Header: header})
}

// Fetch asks a server and records question and answer, each time it asks: while the server says that
// there were too many questions it waits as long as the server says, and while it is out of order a
// little longer each time. Any other status is the caller's to look at; redirections are not
// followed. An error is a *StatusError, a *PersistError, ErrStopped, or of the network.
func (w *Walk) Fetch(ctx context.Context, q Request) (*Answer, error) {
	tries := cmp.Or(q.Tries, w.again.Tries)
	for try := 1; ; try++ {
		if err := w.limits.wait(ctx, w, q.URL); err != nil {
			return nil, err
		}
		a, err := w.once(ctx, q)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, new(*PersistError)), errors.As(err, new(*refusedAddress)):
			return nil, err
		case err == nil && !temporary(a.Status):
			w.limits.learn(a, w.now())
			return a, nil
		case err == nil:
			err = &StatusError{w.client.scrub.text(q.URL), a.Status}
		}
		if try >= w.most(tries, err) {
			return a, w.clean(err)
		}
		pause := w.again.after(try, a, w.now())
		w.log.Warn("harvest waits, asking again", "harvest", w.start.ID, "url", w.client.scrub.text(q.URL), "seconds", pause.Seconds(), "error", w.clean(err))
		if err := w.await(ctx, q.URL, pause); err != nil {
			return nil, err
		}
	}
}

// temporary are the answers that may be others later. 420 is what Twitter said for 429.
func temporary(status int) bool {
	return status == http.StatusTooManyRequests || status == 420 || status >= 500
}

// once asks once. The answer is whole and recorded, or there is an error.
func (w *Walk) once(ctx context.Context, q Request) (a *Answer, err error) {
	block := &spill{dir: w.rec.dir}
	defer block.close()
	mine, cancel := context.WithTimeout(ctx, w.again.Answer)
	defer cancel()
	x, err := w.client.begin(mine, q, func(*exchange) (io.Writer, error) { return block, nil })
	if err == nil {
		a, err = w.take(x, q, block)
	}
	if err != nil && mine.Err() != nil && ctx.Err() == nil && !errors.As(err, new(*PersistError)) {
		err = fmt.Errorf("the answer takes longer than %v", w.again.Answer)
	}
	return a, err
}

// take reads an answer to its end and records it.
func (w *Walk) take(x *exchange, q Request, block *spill) (*Answer, error) {
	limit := cmp.Or(q.MaxBody, defaultMaxBody)
	body, cut, err := readBody(x.answer, block, limit)
	a := &Answer{URL: q.URL, Status: x.answer.StatusCode, Header: x.answer.Header, Body: body, Cut: cut}
	truncated := ""
	switch {
	case errors.As(err, new(*PersistError)):
		x.abandon()
		return nil, err
	case err != nil:
		truncated = "disconnect"
	case cut:
		truncated = "length"
	}
	size := block.size - int64(x.surplus())
	if err == nil && !cut {
		w.client.done(x)
	} else {
		x.abandon()
	}
	if broken := w.record(x, q, a, block, size, truncated); broken != nil {
		return nil, broken
	}
	return a, err
}

// readBody reads a body to its end, unless there is more of it than the limit, on the wire or decoded.
func readBody(answer *http.Response, block *spill, limit int64) (body []byte, cut bool, err error) {
	wire := &bounded{in: answer.Body, block: block, most: limit + 64<<10}
	decoded, err := decode(wire, answer.Header.Get("Content-Encoding"))
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(decoded, limit+1))
	}
	if err == nil && int64(len(body)) <= limit {
		_, err = io.Copy(io.Discard, wire) // behind the end of what is packed
	}
	if errors.Is(err, errLong) || int64(len(body)) > limit {
		return body[:min(int64(len(body)), limit)], true, nil
	}
	return body, false, err
}

// A bounded body ends with errLong once its block has too many bytes.
type bounded struct {
	in    io.Reader
	block *spill
	most  int64
}

var errLong = errors.New("the answer is too long")

func (b *bounded) Read(p []byte) (int, error) {
	if b.block.size > b.most {
		return 0, errLong
	}
	return b.in.Read(p)
}

// decode undoes the content codings that are asked for.
func decode(in io.Reader, coding string) (io.Reader, error) {
	switch strings.ToLower(strings.TrimSpace(coding)) {
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(in)
		if err == io.EOF { // nothing at all, as with 304
			return strings.NewReader(""), nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot unpack the answer: %w", err)
		}
		return z, nil
	case "deflate":
		z, err := zlib.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("cannot unpack the answer: %w", err)
		}
		return z, nil
	}
	return in, nil
}

// clean takes secrets out of what is said of an error.
func (w *Walk) clean(err error) error {
	if err == nil {
		return nil
	}
	if text := w.client.scrub.text(err.Error()); text != err.Error() {
		return &cleaned{text, err}
	}
	return err
}

// A cleaned error is one that has said a secret.
type cleaned struct {
	text string
	err  error
}

func (c *cleaned) Error() string { return c.text }
func (c *cleaned) Unwrap() error { return c.err }

// A refusedAddress is one that Request.Allow does not allow.
type refusedAddress struct{ error }

func (r *refusedAddress) Unwrap() error { return r.error }

// stamp is the date of the records of an exchange.
func (x *exchange) stamp(now time.Time) time.Time { return now.Add(-time.Since(x.began)) }
