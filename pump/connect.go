package pump

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/broker/amqp"
	"srpump/pump/broker/pipe"
	"srpump/pump/broker/sqlite"
	"srpump/pump/config"
)

// An endpoint is a broker as configured: where, and as whom.
type endpoint struct {
	url  string // with its password
	user string // of the broker; empty where it has none
	urls bool   // a pipe that prints URLs, see outlet
	mode post.BaseMode
}

// pipeURL is the broker that is a pair of pipes.
const pipeURL = "-"

func (e endpoint) isPipe() bool  { return e.url == pipeURL }
func (e endpoint) isLocal() bool { return strings.HasPrefix(e.url, "sqlite:") }

// String is for people: without the password.
func (e endpoint) String() string { return config.Redact(e.url) }

// host is the broker's host, the cluster announcements are for when nothing else is said.
func (e endpoint) host() string {
	if u, err := url.Parse(e.url); err == nil {
		return u.Hostname()
	}
	return ""
}

// same reports whether two endpoints are one broker, whoever the user is.
func (e endpoint) same(o endpoint) bool {
	a, errA := url.Parse(e.url)
	b, errB := url.Parse(o.url)
	return errA == nil && errB == nil && e.url != "" && a.Scheme == b.Scheme && address(a) == address(b) &&
		strings.Trim(a.Path, "/") == strings.Trim(b.Path, "/") && a.Opaque == b.Opaque
}

// address is host and port of a broker, whether the port is written or not.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"amqp": "5672", "amqps": "5671"}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

// endpoint completes a configured URL: the local file when there is none, the password
// from credentials.conf. Its error names the option.
func (h *Host) endpoint(c *config.Config, option string, poster bool) (endpoint, error) {
	e, err := h.complete(c, option, poster)
	if err != nil {
		return e, about(option, err)
	}
	return e, nil
}

func (h *Host) complete(c *config.Config, option string, poster bool) (endpoint, error) {
	raw := c.Values.String(option)
	outlet := c.Values.String("outlet")
	switch {
	case poster && outlet == "url":
		return endpoint{url: pipeURL, urls: true, mode: baseMode(c)}, nil
	case raw == pipeURL, poster && outlet == "json":
		return endpoint{url: pipeURL}, nil
	case raw == "", raw == "sqlite:", raw == "sqlite://":
		return endpoint{url: "sqlite://" + h.Database}, nil
	case strings.HasPrefix(raw, "sqlite:") && !strings.HasPrefix(raw, "sqlite:/"):
		return endpoint{url: "sqlite://" + filepath.Join(h.Cwd, strings.TrimPrefix(raw, "sqlite:"))}, nil
	case strings.HasPrefix(raw, "sqlite:"):
		return endpoint{url: raw}, nil
	case !strings.HasPrefix(raw, "amqp:") && !strings.HasPrefix(raw, "amqps:"):
		return endpoint{}, fmt.Errorf("cannot use broker %q: its scheme is none of amqp, amqps, sqlite and -", config.Redact(raw))
	}
	cred, err := c.Credentials.Broker(raw, poster)
	if err != nil {
		return endpoint{}, &broker.Error{Op: "connect to", Object: config.Redact(raw), Kind: broker.ErrRefused, Reason: err.Error(),
			Hint: "add a line with user and password of this broker to credentials.conf, see sr_credentials(5)"}
	}
	return endpoint{url: cred.URL(), user: cred.User}, nil
}

// Open connects to the broker of an option of a configuration: broker or post_broker. The connection
// keeps itself alive; with once the first failure is final, for who waits.
func Open(ctx context.Context, c *config.Config, h *Host, option string, once bool) (broker.Conn, error) {
	e, err := h.endpoint(c, option, option == "post_broker")
	if err != nil {
		return nil, err
	}
	if e.isPipe() {
		return nil, about(option, errNoPipe)
	}
	if once {
		return h.dial(ctx, e, c, broker.Options{Once: true})
	}
	return h.open(ctx, e, c)
}

// errNoPipe is a pipe where messages of any kind are to pass.
var errNoPipe = errors.New("it carries announcements only, not messages of any kind")

// open connects. The connection keeps itself alive; for sr_post, which somebody waits for,
// the first failure is final.
func (h *Host) open(ctx context.Context, e endpoint, c *config.Config) (broker.Conn, error) {
	return h.dial(ctx, e, c, broker.Options{OpenOnce: c.Preset == config.Post, Away: h.links.add(h.Away)})
}

// dial is open with a patience of the caller's.
func (h *Host) dial(ctx context.Context, e endpoint, c *config.Config, o broker.Options) (broker.Conn, error) {
	o.Name, o.Logger, o.TLSRigour = c.Preset.Program()+"/"+c.Name, h.Log, c.Values.String("tls_rigour")
	switch {
	case e.urls:
		return pipe.NewForm(h.Stdin, h.Stdout, h.Log, e.appendURL), nil
	case e.isPipe():
		return pipe.New(h.Stdin, h.Stdout, h.Log), nil
	case e.isLocal():
		return sqlite.Open(ctx, e.url, o)
	}
	return amqp.Open(ctx, e.url, o)
}
