package broker

import (
	"errors"
	"fmt"
)

// The kinds of refusal; compare with errors.Is. Numbers are AMQP reply codes.
var (
	ErrUnroutable   = errors.New("no queue is bound for it")      // 312
	ErrRefused      = errors.New("access refused")                // 403, 530
	ErrNotFound     = errors.New("not found")                     // 404
	ErrLocked       = errors.New("resource locked")               // 405
	ErrPrecondition = errors.New("declared with other arguments") // 406
	ErrMessage      = errors.New("it cannot be taken as it is")   // too long, or a header the broker interprets
	ErrUnreachable  = errors.New("cannot be reached")             // no connection
	ErrClosed       = errors.New("closed")                        // by us
	ErrUnsupported  = errors.New("not supported by this broker")  // pipes have no queues
)

// An Error says what the broker refused, and what an operator may do about it.
type Error struct {
	Op     string // "declare queue", "bind", "publish", "consume", "connect" …
	Object string // name of the exchange or queue, or the URL without its password
	Reason string // the broker's own words, if it gave any
	Hint   string // one sentence: what to do; may be empty
	Kind   error  // one of the Err values of this package
}

// Error is "cannot <op> <object>: <kind>: <reason>"; the hint is left to who prints it.
func (e *Error) Error() string {
	s := fmt.Sprintf("cannot %s %q: %v", e.Op, e.Object, e.Kind)
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// Unwrap returns the kind, for errors.Is.
func (e *Error) Unwrap() error { return e.Kind }

// Hint returns the hint of the first Error in err's chain, or "".
func Hint(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}
