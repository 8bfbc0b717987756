package transfer

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// follow asks for u and for what it is redirected to, at most maxRedirects
// times. Redirects are followed here and not by http.Client, which would carry
// credentials to sub-domains and leave HTTPS.
func (h *HTTP) follow(ctx context.Context, u *url.URL, r Request) (*http.Response, error) {
	first := u
	for hop := 0; ; hop++ {
		if err := h.allowed(u); err != nil {
			return nil, fail(r.URL, Refused, err)
		}
		req := h.request(ctx, u, r)
		if sameHost(u, first) {
			h.authorize(req, first)
		}
		t, err := h.transport(u)
		if err != nil {
			return nil, fail(r.URL, Refused, err)
		}
		resp, err := t.RoundTrip(req)
		if err != nil {
			return nil, ExplainTLS(err)
		}
		next, err := redirect(u, resp)
		if err == nil && next != nil && hop >= maxRedirects {
			err = fmt.Errorf("redirected more than %d times", maxRedirects)
		}
		if err != nil || next == nil {
			if err != nil {
				discard(resp)
				err = fail(r.URL, Refused, err)
				resp = nil
			}
			return resp, err
		}
		discard(resp)
		u = next
	}
}

func (h *HTTP) allowed(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("it is no URL of HTTP")
	}
	if h.o.AllowHost != nil && !h.o.AllowHost(u.Hostname()) {
		return fmt.Errorf("host %q is not allowed", u.Hostname())
	}
	return nil
}

func (h *HTTP) request(ctx context.Context, u *url.URL, r Request) *http.Request {
	plain := *u
	plain.User, plain.Fragment = nil, ""
	header := http.Header{
		"User-Agent":      {h.o.UserAgent},
		"Accept-Encoding": {"identity"},
	}
	if r.Partial() {
		header["Range"] = []string{rangeOf(r)}
	}
	setConditions(header, r)
	req := &http.Request{
		Method: http.MethodGet, URL: &plain, Host: plain.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	return req.WithContext(ctx)
}

func rangeOf(r Request) string {
	s := "bytes=" + strconv.FormatInt(r.Offset, 10) + "-"
	if r.Length > 0 {
		s += strconv.FormatInt(r.Offset+r.Length-1, 10)
	}
	return s
}

// setConditions asks the server to refuse when the source has changed. A weak
// ETag may not stand in these headers; the answer's is compared instead.
func setConditions(h http.Header, r Request) {
	v := r.IfUnchanged
	strong := v.ETag != "" && !strings.HasPrefix(v.ETag, "W/")
	date := ""
	if !v.ModTime.IsZero() {
		date = v.ModTime.UTC().Format(http.TimeFormat)
	}
	switch {
	case r.Partial() && strong:
		h.Set("If-Range", v.ETag)
	case r.Partial() && date != "" && v.ETag == "":
		h.Set("If-Range", date)
	case !r.Partial() && strong:
		h.Set("If-Match", v.ETag)
	case !r.Partial() && date != "":
		h.Set("If-Unmodified-Since", date)
	}
}

// authorize tells the host first addressed who we are.
func (h *HTTP) authorize(req *http.Request, first *url.URL) {
	var user, password, bearer string
	if h.o.Credentials != nil {
		user, password, bearer = h.o.Credentials(first)
	}
	switch {
	case bearer != "":
		req.Header.Set("Authorization", "Bearer "+bearer)
	case user != "":
		req.SetBasicAuth(user, password)
	case first.User != nil:
		if pw, ok := first.User.Password(); ok {
			req.SetBasicAuth(first.User.Username(), pw)
		}
	}
}

// sameHost compares scheme, host and port: a secret for HTTPS is not for HTTP.
func sameHost(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}

// redirect is where resp sends us, or nil when it does not.
func redirect(u *url.URL, resp *http.Response) (*url.URL, error) {
	switch resp.StatusCode {
	case 301, 302, 303, 307, 308:
	default:
		return nil, nil
	}
	next, err := u.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		return nil, fmt.Errorf("redirected to what is not a URL")
	}
	if next.Scheme != u.Scheme && !(u.Scheme == "http" && next.Scheme == "https") {
		return nil, fmt.Errorf("redirected from %s to %q, which is refused", u.Scheme, Redact(next.String()))
	}
	next.User = nil
	return next, nil
}

// discard reads a little of an unwanted body, so that the connection can be kept, and closes it.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 16<<10)
	resp.Body.Close()
}
