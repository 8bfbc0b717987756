package amqp

import (
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
)

// refusalHolds is for how long an exchange that refused a publishing is not
// asked again: each question costs a channel, and sends what was under way
// once more.
const refusalHolds = 100 * time.Millisecond

// A refusal is the broker's no to publishing to one exchange.
type refusal struct {
	err      error
	until    time.Time
	declared uint64 // void once this conn has declared an exchange since
}

// refuse handles a channel exception: letters to the exchange it speaks of are
// taken out with its error. When it does not say which letter it is about,
// the letters under way are sent again one at a time until one is found.
func (p *publisher) refuse(e *amqp.Error) (out []*letter, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent := p.box.sent
	p.box.rewind()
	exchange, ok := quoted(e.Reason, "exchange '")
	_, topical := quoted(e.Reason, "topic '")
	if ok && !topical && (e.Code == amqp.NotFound || e.Code == amqp.AccessRefused) {
		err = p.c.explain("publish", exchange, e)
		p.refusals[exchange] = refusal{err, time.Now().Add(refusalHolds), p.c.declared.Load()}
		if out = p.box.remove(func(x *letter) bool { return x.Exchange == exchange }); len(out) > 0 {
			p.box.singly = min(p.box.singly, len(p.box.letters))
			return out, err
		}
	}
	if sent != 1 {
		p.box.singly = sent
		return nil, nil
	}
	first := p.box.letters[0]
	p.box.singly = max(0, p.box.singly-1)
	return p.box.remove(func(x *letter) bool { return x == first }), p.c.explain("publish", first.Exchange, e)
}

// takeRefused takes out the letters that need not be sent at all.
func (p *publisher) takeRefused() []*letter {
	if p.invalid == 0 && len(p.refusals) == 0 {
		return nil
	}
	p.invalid = 0 // remove finds them all: what is sent is valid
	return p.box.remove(p.refused)
}

// refused tells whether x needs not be sent at all, and why.
func (p *publisher) refused(x *letter) bool {
	r, ok := p.refusals[x.Exchange]
	switch {
	case x.err != nil:
		return true
	case !ok:
		return false
	case time.Now().After(r.until) || p.c.declared.Load() != r.declared:
		delete(p.refusals, x.Exchange)
		return false
	}
	x.err = r.err
	return true
}

// check refuses what the library or the broker would break the connection
// over, and everything else on it.
func check(p *broker.Publishing) error {
	reason := ""
	for _, s := range []string{p.Exchange, p.Key, p.ContentType, p.ContentEncoding, p.Expiration,
		p.CorrelationID, p.ReplyTo, p.MessageID, p.Type, p.UserID, p.AppID} {
		if len(s) > maxShort {
			reason = fmt.Sprintf("%.20q… has %d bytes, at most %d fit", s, len(s), maxShort)
		}
	}
	if err := amqp.Table(p.Headers).Validate(); err != nil {
		reason = err.Error()
	}
	if n, err := tableSize(p.Headers); err != nil {
		reason = err.Error()
	} else if n > frameMinimum-headerFixed {
		reason = fmt.Sprintf("its headers have %d bytes, too many for one frame", n)
	}
	if reason == "" {
		return nil
	}
	return &broker.Error{Op: "publish", Object: p.Exchange, Kind: broker.ErrPrecondition, Reason: reason}
}

const (
	frameMinimum = frameSize // RabbitMQ's default limit; headers may not be split
	headerFixed  = 12 * 256  // all other properties at their longest
	fieldFixed   = 16        // the most a value of fixed size takes
)

var errHeaderName = errors.New("a header's name has more than 255 bytes")

// tableSize is at least what t takes on the wire.
func tableSize(t map[string]any) (n int, err error) {
	for k, v := range t {
		if len(k) > maxShort {
			return 0, errHeaderName
		}
		m, err := valueSize(v)
		if err != nil {
			return 0, err
		}
		n += 1 + len(k) + m
	}
	return n + 4, nil
}

func valueSize(v any) (n int, err error) {
	switch v := v.(type) {
	case string:
		return fieldFixed + len(v), nil
	case []byte:
		return fieldFixed + len(v), nil
	case amqp.Table:
		return tableSize(v)
	case []any:
		for _, e := range v {
			m, err := valueSize(e)
			if err != nil {
				return 0, err
			}
			n += m
		}
	}
	return n + fieldFixed, nil
}
