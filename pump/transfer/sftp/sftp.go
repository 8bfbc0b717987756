// Package sftp gets, lists and puts over SFTP, version 3, inside SSH.
//
//	SFTP      the Getter, Lister and Writer of the scheme sftp
//	address   who is to log in where, as a URL and credentials.conf say
//	host      the same when ~/.ssh/config has had its say
//	link      one connection, shared by all transfers of one address
//
// The path of sftp://user@host/path is absolute, with one slash as with two (sr_post(7), its examples
// have both); sftp://user@host/~/path is below the directory a login begins in.
package sftp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"srpump/pump/transfer"
)

// Options are what an operator decides about SFTP. The zero value works.
type Options struct {
	// Timeout is how long a server may be silent while it owes an answer, and how long a connect
	// may take, which has 60 seconds at most; default transfer.DefaultTimeout.
	Timeout time.Duration
	// Credentials finds what a URL's host and port are to be told: user, password and the path of
	// a private key. What it leaves empty is taken from the URL and from ~/.ssh/config.
	Credentials func(*url.URL) (user, password, keyFile string)
	// AllowHost, when set, must accept the name, without port, that a URL addresses.
	AllowHost func(host string) bool

	Home       string   // where ~ is; default $HOME
	Config     string   // default ~/.ssh/config
	KnownHosts []string // default ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts
	Agent      string   // socket of the agent; default $SSH_AUTH_SOCK
}

func (o *Options) complete() {
	if o.Timeout <= 0 {
		o.Timeout = transfer.DefaultTimeout
	}
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir()
	}
	if o.Config == "" {
		o.Config = filepath.Join(o.Home, ".ssh", "config")
	}
	if o.KnownHosts == nil {
		o.KnownHosts = []string{filepath.Join(o.Home, ".ssh", "known_hosts"), "/etc/ssh/ssh_known_hosts"}
	}
	if o.Agent == "" {
		o.Agent = os.Getenv("SSH_AUTH_SOCK")
	}
}

// SFTP implements transfer.Getter, transfer.Lister and transfer.Writer.
type SFTP struct {
	o    Options
	pool *pool
}

// New makes the Getter; nothing is read or connected before it is first used.
func New(o Options) *SFTP {
	o.complete()
	s := &SFTP{o: o}
	s.pool = newPool(o.Timeout, func(ctx context.Context, a address) (*connection, error) {
		return (&dialer{o: &s.o}).connect(ctx, a)
	})
	return s
}

// Close implements transfer.Getter: every connection is closed.
func (s *SFTP) Close() error {
	s.pool.close()
	return nil
}

// address is who is to log in where. Two transfers with equal addresses share a connection.
type address struct {
	user, password string
	keyFile        string // that and no other is tried
	host, port     string // as in the URL; the port may be empty
}

// locate splits a URL into an address and a path.
func (s *SFTP) locate(raw string) (address, string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "sftp" || u.Hostname() == "" || u.Opaque != "" {
		return address{}, "", errors.New("it is no URL of SFTP")
	}
	if s.o.AllowHost != nil && !s.o.AllowHost(u.Hostname()) {
		return address{}, "", fmt.Errorf("host %q is not allowed", u.Hostname())
	}
	if strings.IndexByte(u.Path, 0) >= 0 {
		return address{}, "", errors.New("its path holds a NUL")
	}
	path := "/" + strings.TrimLeft(u.Path, "/")
	if below, ok := strings.CutPrefix(path+"/", "/~/"); ok {
		path = "./" + strings.TrimSuffix(below, "/")
	}
	return s.o.address(u), path, nil
}

// address is who a URL says is to log in, with what is known of that host.
func (o *Options) address(u *url.URL) address {
	a := address{host: u.Hostname(), port: u.Port()}
	if o.Credentials != nil {
		a.user, a.password, a.keyFile = o.Credentials(u)
	}
	if a.user == "" {
		a.user = u.User.Username()
	}
	if given, ok := u.User.Password(); ok && a.password == "" && a.user == u.User.Username() {
		a.password = given
	}
	return a
}

// with runs an operation on the link of a URL. One that may be done again is, on a new link, when
// one that had been idle turns out to be lost.
func (s *SFTP) with(ctx context.Context, op, raw string, again bool, do func(l *link, path string) error) error {
	a, path, err := s.locate(raw)
	if err != nil {
		return transfer.Fail(op, raw, transfer.Refused, err)
	}
	for {
		l, fresh, err := s.pool.take(ctx, a)
		if err != nil {
			return fail(op, raw, err)
		}
		err = do(l, path)
		lost := l.isLost()
		s.pool.give(l)
		if err != nil && lost && again && !fresh && ctx.Err() == nil {
			again = false
			continue
		}
		return fail(op, raw, err)
	}
}
