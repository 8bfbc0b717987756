package ftp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"srpump/pump/transfer"
)

// connect makes a logged-in control connection. Its end is ctx's.
func (f *FTP) connect(ctx context.Context, p place) (*control, error) {
	conn, err := f.dial(ctx, "tcp", net.JoinHostPort(p.host, p.port))
	if err != nil {
		return nil, err
	}
	c := newControl(conn)
	release := context.AfterFunc(ctx, c.hangUp)
	defer release()
	if err := f.greet(ctx, c, p); err != nil {
		c.hangUp()
		return nil, err
	}
	return c, nil
}

func (f *FTP) greet(ctx context.Context, c *control, p place) error {
	if p.implicit {
		if err := f.secure(ctx, c, p); err != nil {
			return err
		}
	}
	code, text, err := c.reply()
	if err == nil && code != 220 {
		err = &replyError{code, printable(text)}
	}
	if err != nil {
		return err
	}
	if p.login.TLS && !p.implicit {
		if _, err := c.expect(234, "AUTH TLS"); err != nil {
			return class(transfer.Refused, fmt.Errorf("it offers no TLS, which is asked for: %w", err))
		}
		if err := f.secure(ctx, c, p); err != nil {
			return err
		}
	}
	return settle(c, p)
}

// secure goes on with TLS. Data connections resume the session of this one: servers ask for that as proof
// that both are of one client.
func (f *FTP) secure(ctx context.Context, c *control, p place) error {
	conf, err := f.o.TLS(p.host, p.port)
	if err != nil {
		return class(transfer.Refused, err)
	}
	conf.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	conn := tls.Client(c.conn, conf)
	if err := conn.HandshakeContext(ctx); err != nil {
		return transfer.ExplainTLS(err)
	}
	c.tls = conf
	c.speak(conn)
	return nil
}

// settle logs in and agrees on the manner of transfers.
func settle(c *control, p place) error {
	if err := authenticate(c, p); err != nil {
		return err
	}
	if err := c.fetchFeatures(); err != nil {
		return err
	}
	if c.has("UTF8") {
		if _, _, err := c.command("OPTS UTF8 ON"); err != nil && c.broken {
			return err
		}
	}
	kind := "I"
	if c.ascii = p.login.ASCII; c.ascii {
		kind = "A"
	}
	if _, err := c.expect(200, "TYPE %s", kind); err != nil {
		return err
	}
	if err := protect(c, p); err != nil {
		return err
	}
	return c.findHome()
}

// authenticate says who we are. What the server answers to a password is not repeated: it may hold it.
func authenticate(c *control, p place) error {
	code, _, err := c.command("USER %s", p.user)
	if err == nil && code == 331 {
		code, _, err = c.command("PASS %s", p.password)
	}
	if err == nil && code/100 == 2 {
		return nil
	}
	if err != nil && code == 0 {
		return err
	}
	cause := fmt.Errorf("the server refuses the login of %q: %d", p.user, code)
	if code == codeClosing || code/100 == 4 {
		return cause
	}
	return class(transfer.Forbidden, cause)
}

// protect asks for TLS on data connections. Without prot_p a server that cannot may send them in clear, as the v02
// tools always had it.
func protect(c *control, p place) error {
	if c.tls == nil {
		return nil
	}
	_, err := c.expect(200, "PBSZ 0")
	if err == nil {
		_, err = c.expect(200, "PROT P")
	}
	switch {
	case err == nil:
		c.dataTLS = c.tls
	case c.broken:
		return err
	case p.login.ProtP:
		return class(transfer.Refused, fmt.Errorf("it does not protect the data, which prot_p asks for: %w", err))
	}
	return nil
}

// findHome learns the login directory, from which paths count. Who does not say is at the root.
func (c *control) findHome() error {
	code, text, err := c.command("PWD")
	if c.broken {
		return err
	}
	c.home = "/"
	if _, quoted, ok := strings.Cut(text, `"`); ok && code == 257 {
		if end := strings.LastIndexByte(quoted, '"'); end > 0 && quoted[0] == '/' {
			c.home = strings.ReplaceAll(quoted[:end], `""`, `"`)
		}
	}
	return nil
}

// path is the absolute path of a URL's: absolute, so that none begins with a dash or a blank, and where we are does not matter.
func (c *control) path(of string) string {
	if strings.HasPrefix(of, "//") {
		return "/" + strings.TrimLeft(of, "/")
	}
	return strings.TrimRight(c.home, "/") + "/" + strings.TrimPrefix(of, "/")
}

// A classed error knows its class before the operation is named.
type classed struct {
	class transfer.Class
	error
}

func (e *classed) Unwrap() error { return e.error }

func class(as transfer.Class, err error) error { return &classed{as, err} }

// classify finds the class of any failure here.
func classify(err error) transfer.Class {
	var known *classed
	var reply *replyError
	switch {
	case errors.As(err, &known):
		return known.class
	case errors.As(err, &reply):
		return classOf(reply)
	}
	return transfer.Temporary
}
