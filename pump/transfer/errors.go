package transfer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A Class says what may be done about a failure.
type Class int

// Temporary is the zero value: what is not known to be hopeless is tried again.
const (
	Temporary   Class = iota // connection, time-out, cut short, server trouble: try again
	NotFound                 // there is no such file (any more)
	Forbidden                // the server wants other credentials
	Range                    // the source does not hold those bytes, or cannot give a part
	Changed                  // the source is not what Request.IfUnchanged saw
	Refused                  // we do not: another scheme, a host not allowed, not a regular file
	Cancelled                // the caller's context ended
	Unsupported              // the scheme or the server has no such thing
)

var classes = [...]string{"temporary", "not found", "forbidden", "range", "changed", "refused", "cancelled", "unsupported"}

func (c Class) String() string { return classes[c] }

// An Error is a failed transfer. It holds no secrets.
type Error struct {
	Op         string // "get", "list", "stat", "put", "rename", "remove", "mkdir" or "set"
	URL        string // without password and query
	Status     int    // of HTTP, or 0
	Class      Class
	RetryAfter time.Duration // what the server asks for, or 0
	Err        error
}

func (e *Error) Error() string { return fmt.Sprintf("cannot %s %q: %v", e.Op, e.URL, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// ClassOf is the class of an error of this package; any other error is Temporary.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Temporary
}

// Fail makes the error of an operation on a URL; one that is an *Error already is kept.
func Fail(op, rawURL string, class Class, cause error) error {
	var e *Error
	if errors.As(cause, &e) {
		return cause
	}
	if errors.Is(cause, context.Canceled) {
		class = Cancelled
	}
	return &Error{Op: op, URL: Redact(rawURL), Class: class, Err: cause}
}

func fail(rawURL string, class Class, cause error) error { return Fail("get", rawURL, class, cause) }

// failStatus makes the error for an HTTP status.
func failStatus(rawURL string, status int, class Class) *Error {
	text := strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
	return &Error{Op: "get", URL: Redact(rawURL), Status: status, Class: class, Err: errors.New(text)}
}

// Redact is a URL as it may be shown: the password and the query, which may
// hold a token, are left out. Of what is no URL only the scheme is shown.
func Redact(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		scheme, _, _ := strings.Cut(rawURL, ":")
		if len(scheme) > 16 {
			scheme = ""
		}
		return scheme + ":…"
	}
	if u.Opaque != "" && u.Scheme != "file" {
		return u.Scheme + ":…"
	}
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	u.Fragment = ""
	return u.String()
}
