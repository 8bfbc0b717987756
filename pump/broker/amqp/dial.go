package amqp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
)

const (
	handshakeLimit = 30 * time.Second
	frameSize      = 128 << 10 // RabbitMQ's own default
)

// dial opens a link, on the first of the target's vhosts the broker knows.
// Its error is a *broker.Error: ErrRefused when the broker said no,
// ErrUnreachable otherwise.
func (c *conn) dial(ctx context.Context) (*link, error) {
	l, err := c.dialVhost(ctx, c.to.vhosts[0])
	if len(c.to.vhosts) > 1 && vhostRefused(err) {
		if other, second := c.dialVhost(ctx, c.to.vhosts[1]); second == nil {
			c.to.vhosts = c.to.vhosts[1:]
			return other, nil
		}
	}
	if err != nil {
		return nil, c.explainDial(err)
	}
	c.to.vhosts = c.to.vhosts[:1]
	return l, nil
}

// dialVhost returns the errors of net and amqp091 as they come.
func (c *conn) dialVhost(ctx context.Context, vhost string) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeLimit)
	defer cancel()
	socket, err := c.dialSocket(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = socket.Close() })
	defer stop()
	properties := amqp.Table{"product": "srpump", "platform": "golang", "connection_name": c.o.Name}
	w := newWire(socket, handshakeLimit)
	a, err := amqp.Open(w, amqp.Config{
		SASL:       []amqp.Authentication{&login{c.to.user, c.to.password, properties}},
		Vhost:      vhost,
		FrameSize:  frameSize,
		Heartbeat:  c.o.Heartbeat,
		Properties: properties,
		Locale:     "en_US",
	})
	if err != nil {
		_ = socket.Close()
		return nil, err
	}
	w.idle.Store(int64(2 * a.Config.Heartbeat))
	return newLink(a, w), nil
}

func (c *conn) dialSocket(ctx context.Context) (net.Conn, error) {
	if !c.to.secure {
		return new(net.Dialer).DialContext(ctx, "tcp", c.to.addr)
	}
	conf, err := tlsConfig(c.o.TLSRigour, c.to.host)
	if err != nil {
		return nil, err
	}
	return (&tls.Dialer{Config: conf}).DialContext(ctx, "tcp", c.to.addr)
}

// tlsConfig is sr_subscribe's tls_rigour: lax verifies nothing, normal the
// host's certificate, strict also refuses what is older than TLS 1.2.
func tlsConfig(rigour, host string) (*tls.Config, error) {
	conf := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	switch strings.ToLower(rigour) {
	case "", "normal", "medium", "strict":
	case "lax":
		conf.MinVersion = tls.VersionTLS10
		conf.InsecureSkipVerify = true
	default:
		return nil, &broker.Error{Op: "connect to", Object: host, Kind: broker.ErrRefused,
			Reason: fmt.Sprintf("unknown tls_rigour %q", rigour), Hint: "use strict, normal or lax"}
	}
	return conf, nil
}

// A login is SASL PLAIN that also asks the broker to say so when it refuses:
// without that capability RabbitMQ drops the connection after some seconds of
// silence, which cannot be told from a broken network. The library leaves no
// other moment to add a capability to its own list.
type login struct {
	user, password string
	properties     amqp.Table
}

func (*login) Mechanism() string { return "PLAIN" }

func (a *login) Response() string {
	if t, ok := a.properties["capabilities"].(amqp.Table); ok {
		t["authentication_failure_close"] = true
	}
	return "\x00" + a.user + "\x00" + a.password
}

// vhostRefused tells a vhost the broker does not know, or not for this user.
func vhostRefused(err error) bool {
	var e *amqp.Error
	return errors.As(err, &e) && e.Server &&
		(e.Code == amqp.NotAllowed || e.Code == amqp.AccessRefused && strings.Contains(e.Reason, "vhost"))
}

// explainDial sorts what amqp.Open returned.
func (c *conn) explainDial(err error) error {
	var ours *broker.Error
	if errors.As(err, &ours) {
		return ours
	}
	var e *amqp.Error
	if errors.As(err, &e) && e.Server && (e.Code == amqp.AccessRefused || e.Code == amqp.NotAllowed) {
		hint := fmt.Sprintf("check user and password for %s in credentials.conf", c.to.safe)
		if vhostRefused(err) {
			hint = fmt.Sprintf("give user %q access: rabbitmqctl set_permissions -p %s %s …, or check the vhost in %s",
				c.to.user, c.to.vhosts[0], c.to.user, c.to.safe)
		}
		return &broker.Error{Op: "connect to", Object: c.to.safe, Kind: broker.ErrRefused, Reason: e.Reason, Hint: hint}
	}
	return c.unreachable(err)
}

func (c *conn) unreachable(err error) *broker.Error {
	reason := "connection lost"
	if err != nil {
		reason = err.Error()
	}
	hint := fmt.Sprintf("is the broker running, and does %s listen?", c.to.addr)
	var e *amqp.Error
	switch {
	case errors.Is(err, amqp.ErrCredentials):
		reason = "the connection broke during login"
	case errors.As(err, &e):
		reason = e.Reason
	}
	return &broker.Error{Op: "connect to", Object: c.to.safe, Kind: broker.ErrUnreachable, Reason: reason, Hint: hint}
}
