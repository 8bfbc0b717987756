package amqp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
)

// isTransient tells what a second try mends: a channel that another's refusal
// has just closed, and a queue whose node is being restarted, for which
// RabbitMQ answers 404 though it exists.
func isTransient(err error) bool {
	var e *amqp.Error
	return errors.Is(err, amqp.ErrClosed) || errors.As(err, &e) && e.Code == amqp.NotFound &&
		(strings.Contains(e.Reason, "down or inaccessible") || strings.Contains(e.Reason, "stopped by supervisor"))
}

// isNetwork tells that the connection failed, not that the broker refused.
func isNetwork(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe)
}

// explain turns the broker's reply to op on object into a *broker.Error with
// a hint. An error that is none of the broker's becomes its Reason.
func (c *conn) explain(op, object string, err error) error {
	var ours *broker.Error
	if errors.As(err, &ours) {
		return ours
	}
	out := &broker.Error{Op: op, Object: object, Kind: broker.ErrRefused, Reason: err.Error()}
	var e *amqp.Error
	if !errors.As(err, &e) {
		return out
	}
	out.Reason = e.Reason
	switch e.Code {
	case amqp.NotFound:
		out.Kind = broker.ErrNotFound
		out.Hint = c.hintNotFound(e.Reason)
	case amqp.AccessRefused, amqp.NotAllowed:
		out.Hint = c.hintRefused(op, object, e.Reason)
	case amqp.ResourceLocked:
		out.Kind = broker.ErrLocked
		out.Hint = "another connection owns it; end that program, or use another name"
	case amqp.PreconditionFailed:
		out.Kind = broker.ErrPrecondition
		out.Hint = hintPrecondition(e.Reason)
	}
	return out
}

// hintNotFound reads "NOT_FOUND - no exchange 'x' in vhost '/'".
func (c *conn) hintNotFound(reason string) string {
	if x, ok := quoted(reason, "no exchange '"); ok {
		return fmt.Sprintf("exchange %q does not exist on %s: declare it, as sr_post declare does for who posts to it, or check `exchange` and, with exchange_split, `instances`", x, c.to.safe)
	}
	if q, ok := quoted(reason, "no queue '"); ok {
		return fmt.Sprintf("queue %q does not exist on %s: declare it, or check `queue_name`", q, c.to.safe)
	}
	return ""
}

// hintRefused names the permission that is missing and the pattern that would give it, by what was
// asked: the broker's own text does not say which of the three it is.
func (c *conn) hintRefused(op, object, reason string) string {
	permission := map[string]string{
		"declare exchange": "configure", "declare queue": "configure", "delete queue": "configure", "delete exchange": "configure",
		"publish": "write", "consume": "read", "purge": "read",
	}[op]
	if op == "bind" || op == "unbind" {
		if x, ok := quoted(reason, "exchange '"); ok {
			permission, object = "read", x
		} else if q, ok := quoted(reason, "queue '"); ok {
			permission, object = "write", q
		}
	}
	if permission == "" || !strings.Contains(reason, "refused for user") {
		return ""
	}
	user := regexp.QuoteMeta(c.to.user)
	usual := "^q_" + user + ".*|^xs_" + user + ".*"
	if permission == "read" {
		usual = "^q_" + user + ".*|^x[lrs]_" + user + ".*|^x.*public$"
	}
	if regexp.MustCompile(usual).MatchString(object) {
		return fmt.Sprintf("user %q needs %s on %q at %s: its pattern for that is not the usual %s; sr_audit --users foreground sets it, or rabbitmqctl set_permissions",
			c.to.user, permission, object, c.to.safe, usual)
	}
	return fmt.Sprintf("user %q needs %s on %q at %s: its pattern for that, usually %s, must also match ^%s$",
		c.to.user, permission, object, c.to.safe, usual, regexp.QuoteMeta(object))
}

// hintPrecondition reads "PRECONDITION_FAILED - inequivalent arg 'x-expires'
// for queue 'q' in vhost '/': received the value '1' … but current is none".
func hintPrecondition(reason string) string {
	arg, ok := quoted(reason, "inequivalent arg '")
	if !ok {
		if strings.Contains(reason, "in use") {
			return "something is still bound to it or reads it"
		}
		return ""
	}
	what := "queue"
	if _, ok := quoted(reason, "for exchange '"); ok {
		what = "exchange"
	}
	return fmt.Sprintf("it exists with another %s: delete the %s, or use the arguments it has", arg, what)
}

// quoted returns what stands in s between prefix, which ends with a quote, and
// the next quote.
func quoted(s, prefix string) (string, bool) {
	_, rest, ok := strings.Cut(s, prefix)
	if !ok {
		return "", false
	}
	name, _, ok := strings.Cut(rest, "'")
	return name, ok
}
