package transfer

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// DefaultTimeout is how long a source may send nothing.
const DefaultTimeout = 300 * time.Second

const (
	maxRedirects   = 10
	maxHeaderBytes = 64 << 10
)

// HTTPOptions are what an operator decides about HTTP. The zero value works.
type HTTPOptions struct {
	Workers   int           // concurrent transfers, for which connections are kept; default 1
	Timeout   time.Duration // without a byte; default DefaultTimeout. The whole has no limit
	TLS       TLS
	UserAgent string

	// Credentials finds what a URL's host and port are to be told: user and
	// password, or a bearer token. It is asked for the host first addressed
	// and never for one redirected to.
	Credentials func(*url.URL) (user, password, bearer string)
	// AllowHost, when set, must accept the name (without port) of every host addressed.
	AllowHost func(host string) bool
}

// HTTP gets over HTTP and HTTPS, version 1.1: one connection per transfer, kept for the next.
type HTTP struct {
	o          HTTPOptions
	mu         sync.Mutex
	transports map[TLSFiles]*http.Transport // servers with files of their own share no connections
}

// NewHTTP makes the Getter; nothing is set up before the first Get.
func NewHTTP(o HTTPOptions) *HTTP {
	if o.Workers < 1 {
		o.Workers = 1
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.UserAgent == "" {
		o.UserAgent = "srpump"
	}
	return &HTTP{o: o}
}

// transport gives the one that serves u, and makes it at first.
func (h *HTTP) transport(u *url.URL) (*http.Transport, error) {
	var files TLSFiles
	if u.Scheme == "https" {
		files = h.o.TLS.filesOf(u.Hostname(), u.Port())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.transports[files]; t != nil {
		return t, nil
	}
	conf, err := h.o.TLS.configOf(files)
	if err != nil {
		return nil, err
	}
	if h.transports == nil {
		h.transports = make(map[TLSFiles]*http.Transport)
	}
	t := h.newTransport(conf)
	h.transports[files] = t
	return t, nil
}

func (h *HTTP) newTransport(conf *tls.Config) *http.Transport {
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment, // it leaves loopback alone
		DialContext:            Dialer(h.o.Timeout),
		TLSHandshakeTimeout:    min(h.o.Timeout, 60*time.Second),
		MaxIdleConns:           4 * h.o.Workers,
		MaxIdleConnsPerHost:    h.o.Workers,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ReadBufferSize:         16 << 10, // a small file arrives with its header in one read
		DisableCompression:     true,
		Protocols:              new(http.Protocols),
		TLSClientConfig:        conf,
	}
	t.Protocols.SetHTTP1(true)
	return t
}

// Get implements Getter.
func (h *HTTP) Get(ctx context.Context, r Request) (*Body, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if r.Length == 0 {
		return &Body{ReadCloser: http.NoBody}, nil
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, fail(r.URL, Refused, errors.New("it is not a URL"))
	}
	resp, err := h.follow(ctx, u, r)
	if err != nil {
		return nil, fail(r.URL, Temporary, err)
	}
	body, err := accept(resp, r)
	if err != nil {
		discard(resp)
		return nil, err
	}
	return body, nil
}

// Close implements Getter.
func (h *HTTP) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.transports {
		t.CloseIdleConnections()
	}
	return nil
}
