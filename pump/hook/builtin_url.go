package hook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// newBaseURL has files fetched from another place than the one announced.
func newBaseURL(env Env) (Hook, error) {
	base, err := baseURL(env, "msg_download_baseurl")
	return changing(func(e *Event) { e.Announcement.Base = base }), err
}

// baseURL is the value of an option that is the URL of a tree.
func baseURL(env Env, option string) (string, error) {
	base := env.Own.String(option)
	if u, err := url.Parse(base); err != nil || u.Scheme == "" || u.Host == "" && u.Scheme != "file" {
		return "", fmt.Errorf("option %q is not a URL such as http://host/", option)
	}
	return base, nil
}

// newToHTTP has files fetched by HTTP, from the host that announced them by another way or from the one of
// the option.
func newToHTTP(env Env) (Hook, error) {
	if env.Own.String("msg_2http_baseurl") != "" {
		base, err := baseURL(env, "msg_2http_baseurl")
		return changing(func(e *Event) { e.Announcement.Base = base }), err
	}
	return step(func(_ context.Context, e *Event) (bool, error) {
		u, err := url.Parse(e.Announcement.Base)
		if err != nil || u.Hostname() == "" {
			return false, fmt.Errorf("%w: baseurl names no host: set msg_2http_baseurl", ErrAnswer)
		}
		if u.Scheme != "http" {
			u.Scheme, u.User, u.Host = "http", nil, bracketed(u.Hostname())
			e.Announcement.Base = u.String()
		}
		return true, nil
	}), nil
}

// newToHTTPS has what is announced by HTTP fetched by HTTPS.
func newToHTTPS(Env) (Hook, error) {
	return step(func(_ context.Context, e *Event) (bool, error) {
		u, err := url.Parse(e.Announcement.Base)
		if err != nil {
			return false, fmt.Errorf("%w: baseurl: %w", ErrAnswer, errors.Unwrap(err))
		}
		if u.Scheme == "http" {
			u.Scheme = "https"
			if u.Port() == "80" {
				u.Host = bracketed(u.Hostname())
			}
			e.Announcement.Base = u.String()
		}
		return true, nil
	}), nil
}

// bracketed is a host as it stands in a URL without a port.
func bracketed(host string) string {
	return strings.TrimSuffix(net.JoinHostPort(host, ""), ":")
}
