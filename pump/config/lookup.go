package config

import (
	"errors"
	"fmt"
)

// ErrNoCredential is what a look-up fails with when a URL names a user whose
// password neither it nor credentials.conf holds.
var ErrNoCredential = errors.New("no password in credentials.conf")

// Lookup completes a URL from which something is fetched or to which something
// is delivered: an exact hit; else the first entry with the same scheme, host
// and port, and the same user and password where the URL has them. What is
// not listed is returned as it is where it can do without: user and password
// both given, http, https, ftp and sftp without a user, sftp with a user alone
// (an agent or key may serve), file.
func (c *Credentials) Lookup(raw string) (Credential, error) {
	want, err := parseAddress(raw)
	if err != nil {
		return Credential{}, fmt.Errorf("cannot look up %q: %w", Redact(raw), err)
	}
	if found, ok := c.match(want); ok {
		return found, nil
	}
	if !sufficient(want) {
		return Credential{}, fmt.Errorf("cannot use %q: %w", Redact(raw), ErrNoCredential)
	}
	return want, nil
}

// Broker completes the URL of a broker. Besides the rules of Lookup, entries
// must be of the same vhost, and a URL without a user is taken for
// anonymous:anonymous. A poster without a user gets the first entry for that
// broker, or guest:guest, because sr_post(7) has posters default to guest.
func (c *Credentials) Broker(raw string, poster bool) (Credential, error) {
	want, err := parseAddress(raw)
	if err != nil {
		return Credential{}, fmt.Errorf("cannot look up %q: %w", Redact(raw), err)
	}
	if want.User == "" && isBroker(want.Scheme) {
		if found, ok := c.match(want); ok && poster {
			return found, nil
		}
		want.User, want.Password = "anonymous", "anonymous"
		if poster {
			want.User, want.Password = "guest", "guest"
		}
		want.text = ""
	}
	if found, ok := c.match(want); ok {
		return found, nil
	}
	if !sufficient(want) {
		return Credential{}, fmt.Errorf("cannot use %q: %w", Redact(raw), ErrNoCredential)
	}
	return want, nil
}

// parseAddress also takes what has no host, such as file: and sqlite:.
func parseAddress(raw string) (Credential, error) {
	if err := checkURL(raw); err != nil {
		return Credential{}, err
	}
	c, err := parseCredential(raw)
	if err != nil {
		return Credential{Scheme: scheme(raw), text: raw}, nil
	}
	return c, nil
}

func (c *Credentials) match(want Credential) (Credential, bool) {
	if c == nil {
		return Credential{}, false
	}
	for _, e := range c.entries {
		if want.text != "" && e.text == want.text {
			return e, true
		}
	}
	for _, e := range c.entries {
		if e.serves(want) {
			return e, true
		}
	}
	return Credential{}, false
}

func (c Credential) serves(want Credential) bool {
	return c.Scheme == want.Scheme && c.Host == want.Host && c.Port == want.Port &&
		(want.User == "" || c.User == want.User) &&
		(want.Password == "" || c.Password == want.Password) &&
		(!isBroker(c.Scheme) || c.Path == want.Path)
}

func sufficient(c Credential) bool {
	switch {
	case c.User != "" && c.Password != "":
		return true
	case c.Scheme == "sftp":
		return true
	case c.User == "":
		return !isBroker(c.Scheme)
	}
	return false
}
