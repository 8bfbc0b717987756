package audit

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"

	"srpump/pump/config"
	"srpump/pump/manage"
)

// Connect makes a client for the broker of the option admin, at management_url or where RabbitMQ
// has it by default: port 15672, or 15671 with TLS. Nothing is asked yet.
func Connect(c *config.Config) (*manage.Client, error) {
	raw := c.Values.String("admin")
	if raw == "" {
		return nil, ErrNoAdmin
	}
	admin, err := c.Credentials.Broker(raw, false)
	if err != nil {
		return nil, fmt.Errorf("cannot read option admin: %w", err)
	}
	if admin.Scheme != "amqp" && admin.Scheme != "amqps" {
		return nil, fmt.Errorf("cannot manage %q: only RabbitMQ has users and permissions", admin)
	}
	at := c.Values.String("management_url")
	if at == "" {
		at = defaultURL(admin)
	}
	return manage.New(manage.Options{URL: at, User: admin.User, Password: string(admin.Password), Vhost: vhost(admin.Path),
		TLS: &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.Values.String("tls_rigour") == "lax"}})
}

func defaultURL(admin config.Credential) string {
	if admin.Scheme == "amqps" {
		return "https://" + net.JoinHostPort(admin.Host, "15671")
	}
	return "http://" + net.JoinHostPort(admin.Host, "15672")
}

func vhost(path string) string {
	if name := strings.TrimPrefix(path, "/"); name != "" {
		return name
	}
	return "/"
}

// Look asks the broker for everything PlanUsers and Police compare.
func Look(ctx context.Context, c *manage.Client) (*Holdings, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return nil, err
	}
	h := &Holdings{Self: self.Name}
	if h.Users, err = c.Users(ctx); err != nil {
		return nil, err
	}
	if h.Permissions, err = c.Permissions(ctx); err != nil {
		return nil, err
	}
	if h.Exchanges, err = c.Exchanges(ctx); err != nil {
		return nil, err
	}
	h.Queues, err = c.Queues(ctx)
	return h, err
}
