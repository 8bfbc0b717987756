package manage

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options say where a broker is managed, and as whom.
type Options struct {
	URL      string // http[s]://host[:port][/prefix], without user and password
	User     string
	Password string
	Vhost    string      // "/" when empty
	TLS      *tls.Config // for https; nil verifies against the system's authorities
}

// A Client asks one broker. Its methods may be called at the same time.
type Client struct {
	base           string // without a slash at the end
	user, password string
	vhost          string
	http           *http.Client
}

// patience bounds one request; a broker with tens of thousands of queues takes some seconds.
const patience = time.Minute

// New makes a client; nothing is asked yet.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, errors.New("cannot manage the broker: its management URL is not http://host:port/")
	}
	c := &Client{base: strings.TrimRight(o.URL, "/"), user: o.User, password: o.Password, vhost: o.Vhost}
	if c.vhost == "" {
		c.vhost = "/"
	}
	c.http = &http.Client{
		Timeout:       patience,
		Transport:     &http.Transport{TLSClientConfig: o.TLS, MaxIdleConnsPerHost: 1, IdleConnTimeout: patience},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the password is for this host
	}
	return c, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// A Status is an answer that is no success.
type Status struct {
	Code   int    // of HTTP
	Reason string // the broker's words, if it gave any
}

// Error is the code and the reason.
func (s *Status) Error() string {
	text := fmt.Sprintf("%d %s", s.Code, http.StatusText(s.Code))
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	return text
}

// IsStatus reports whether err is an answer with that code.
func IsStatus(err error, code int) bool {
	var s *Status
	return errors.As(err, &s) && s.Code == code
}

// maxAnswer bounds what is read of one answer, in bytes.
const maxAnswer = 256 << 20

// call does one request. The path is made of elements, each of which may hold any character; in, where
// it is not nil, is sent as JSON, and out filled from the answer.
func (c *Client) call(ctx context.Context, method string, path []string, query string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	at := c.base + "/api"
	for _, p := range path {
		at += "/" + url.PathEscape(p)
	}
	if query != "" {
		at += "?" + query
	}
	r, err := http.NewRequestWithContext(ctx, method, at, body)
	if err != nil {
		return err
	}
	r.SetBasicAuth(c.user, c.password)
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return read(resp, out)
}

func read(resp *http.Response, out any) error {
	answer := io.LimitReader(resp.Body, maxAnswer)
	if resp.StatusCode/100 != 2 {
		return &Status{resp.StatusCode, reason(answer)}
	}
	if out == nil {
		_, err := io.Copy(io.Discard, answer)
		return err
	}
	if err := json.NewDecoder(answer).Decode(out); err != nil {
		return fmt.Errorf("cannot read the answer: %w", err)
	}
	return nil
}

// reason is what the broker says in {"error":…,"reason":…}.
func reason(r io.Reader) string {
	var said struct {
		Reason any `json:"reason"`
	}
	if json.NewDecoder(io.LimitReader(r, 64<<10)).Decode(&said) != nil || said.Reason == nil {
		return ""
	}
	return fmt.Sprint(said.Reason)
}

// get is a GET that yields a list or an object.
func get[T any](ctx context.Context, c *Client, what, query string, path ...string) (T, error) {
	var out T
	if err := c.call(ctx, http.MethodGet, path, query, nil, &out); err != nil {
		return out, fmt.Errorf("cannot list %s: %w", what, err)
	}
	return out, nil
}

// remove is a DELETE; what is not there is no error.
func (c *Client) remove(ctx context.Context, what, name string, path ...string) error {
	err := c.call(ctx, http.MethodDelete, path, "", nil, nil)
	if err != nil && !IsStatus(err, http.StatusNotFound) {
		return fmt.Errorf("cannot delete %s %q: %w", what, name, err)
	}
	return nil
}
