package amqp

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"srpump/pump/broker"
)

// A target is a broker URL taken apart.
type target struct {
	secure         bool
	host           string
	addr           string // host:port
	user, password string
	vhosts         []string // readings of the path, to be tried in turn
	safe           string   // the URL without its password, for logs and errors
}

// parse reads amqp[s]://user:password@host[:port][/vhost]. User and password
// default to guest. The path "dev" is tried as RabbitMQ reads it, and then as
// v02 hosts have it in their configurations, "/dev".
func parse(raw string) (target, error) {
	u, err := url.Parse(raw)
	if err != nil { // its text would repeat the password
		return target{}, refused("the broker's URL", "not a URL", "write amqp://user@host/, and the password in credentials.conf")
	}
	t := target{host: u.Hostname(), user: "guest", password: "guest"}
	port := u.Port()
	switch u.Scheme {
	case "amqp":
		port = first(port, "5672")
	case "amqps":
		t.secure = true
		port = first(port, "5671")
	default:
		return target{}, refused(u.Redacted(), fmt.Sprintf("unknown scheme %q", u.Scheme), "use amqp:// or amqps://")
	}
	t.host = first(t.host, "localhost")
	t.addr = net.JoinHostPort(t.host, port)
	if u.User != nil {
		t.user = u.User.Username()
		t.password, _ = u.User.Password()
	}
	t.vhosts = vhosts(u.Path)
	t.safe = (&url.URL{Scheme: u.Scheme, User: url.User(t.user), Host: u.Host, Path: u.Path}).String()
	return t, nil
}

// vhosts lists the readings of a URL's path, decoded.
func vhosts(path string) []string {
	name := strings.TrimPrefix(path, "/")
	switch {
	case name == "" || name == "/":
		return []string{"/"}
	case strings.HasPrefix(name, "/"):
		return []string{name}
	}
	return []string{name, "/" + name}
}

func first(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}

func refused(object, reason, hint string) error {
	return &broker.Error{Op: "connect to", Object: object, Kind: broker.ErrRefused, Reason: reason, Hint: hint}
}
