// Package ftp moves files over FTP and over FTP with TLS.
//
//	FTP       the Getter, Lister and Writer
//	control   one logged-in control connection: commands go, replies come
//	session   one operation on one control connection, until it is given back
//	pool      control connections that wait for the next file
//
// RFC 959 and 2228, 2389, 2428, 2640, 3659, 4217. The client is our own because the libraries at hand hold
// whole listings and replies of any length in memory, give no permissions, cannot say SITE CHMOD and
// panic on a reply such as "227 )(": a server is not to be trusted with any of that.
package ftp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"srpump/pump/transfer"
)

// A Login is what credentials.conf says of one FTP server, sr_credentials(5), OPTIONS.
type Login struct {
	Active bool // the server connects to us for data
	ASCII  bool // lines end in CR LF on the way
	TLS    bool // ask for TLS on the usual port, as ftps: always does
	ProtP  bool // give up when the server does not protect the data too
}

// Options are what an operator decides about FTP. The zero value works.
type Options struct {
	Workers int           // control connections kept per server and user; default 1
	Timeout time.Duration // without a byte, and of a connect; default transfer.DefaultTimeout

	// Credentials finds user, password and manner of a URL, of which user, host and port count.
	// Without a user in either, the login is anonymous.
	Credentials func(*url.URL) (user, password string, l Login)
	// AllowHost, when set, must accept the name (without port) of every host addressed.
	AllowHost func(host string) bool
	// TLS makes the configuration for a server; default transfer.TLS{}.Config.
	TLS func(host, port string) (*tls.Config, error)
}

// FTP gets, lists and writes by URLs of the schemes ftp and ftps. ftps is TLS asked for on the
// control connection (RFC 4217), or from the first byte when the port is 990. A path is taken
// from the login directory on; one that begins with two slashes is absolute.
type FTP struct {
	o    Options
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
	pool pool
}

// New makes the FTP; nothing is set up before the first use.
func New(o Options) *FTP {
	if o.Workers < 1 {
		o.Workers = 1
	}
	if o.Timeout <= 0 {
		o.Timeout = transfer.DefaultTimeout
	}
	if o.TLS == nil {
		o.TLS = transfer.TLS{}.Config
	}
	return &FTP{o: o, dial: transfer.Dialer(o.Timeout), pool: pool{keep: o.Workers}}
}

// Close implements transfer.Getter.
func (f *FTP) Close() error {
	f.pool.close()
	return nil
}

// A place is one server as one user: what a control connection belongs to.
type place struct {
	host, port     string
	user, password string
	login          Login
	implicit       bool // TLS from the first byte
}

const (
	usualPort    = "21"
	implicitPort = "990"
)

// locate finds where a URL points to: the place, and the path as the URL has it.
func (f *FTP) locate(raw string) (place, string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "ftp" && u.Scheme != "ftps" || u.Hostname() == "" {
		return place{}, "", class(transfer.Refused, errors.New("it is no URL of FTP"))
	}
	if strings.ContainsAny(u.Path, "\r\n\x00") {
		return place{}, "", class(transfer.Refused, errors.New("FTP carries no name with a line end or a zero byte in it"))
	}
	if f.o.AllowHost != nil && !f.o.AllowHost(u.Hostname()) {
		return place{}, "", class(transfer.Refused, fmt.Errorf("host %q is not allowed", u.Hostname()))
	}
	p := place{host: u.Hostname(), port: u.Port(), user: u.User.Username()}
	p.password, _ = u.User.Password()
	if err := f.identify(&p, u); err != nil {
		return place{}, "", err
	}
	p.login.TLS = p.login.TLS || p.login.ProtP || u.Scheme == "ftps"
	p.implicit = u.Scheme == "ftps" && p.port == implicitPort
	if p.port == "" {
		p.port = usualPort
	}
	if strings.ContainsAny(p.user+p.password, "\r\n\x00") {
		return place{}, "", class(transfer.Refused, errors.New("FTP carries no user or password with a line end or a zero byte in it"))
	}
	return p, u.Path, nil
}

// identify completes who we are from credentials; who is nobody is anonymous.
func (f *FTP) identify(p *place, u *url.URL) error {
	known := false
	if f.o.Credentials != nil {
		user, password, login := f.o.Credentials(u)
		p.login = login
		if known = user != ""; known {
			p.user, p.password = user, password
		}
	}
	switch {
	case p.user == "":
		p.user, p.password = "anonymous", "anonymous@"
	case p.password == "" && !known:
		return class(transfer.Forbidden, fmt.Errorf("no password of %q there in credentials.conf", p.user))
	}
	return nil
}
