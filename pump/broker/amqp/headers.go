package amqp

import (
	"errors"
	"fmt"
	"maps"
	"math"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
)

const (
	headersLimit = frameSize - 12*256 // headers may not be split; all other properties at their longest
	fieldFixed   = 16                 // the most a value of fixed size takes
)

// errNotFinite is a number RabbitMQ, whose language has none such, ends the connection over.
var errNotFinite = errors.New("a header is infinite or not a number")

func finite(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return errNotFinite
	}
	return nil
}

var errHeaderName = errors.New("a header's name has more than 255 bytes")

// check makes a publishing ready for the library, and refuses what the library
// or the broker would break the connection over, and everything else on it.
func check(p *broker.Publishing) error {
	reason := ""
	for _, s := range [...]string{p.Exchange, p.Key, p.ContentType, p.ContentEncoding, p.Expiration,
		p.CorrelationID, p.ReplyTo, p.MessageID, p.Type, p.UserID, p.AppID} {
		if len(s) > maxShort {
			reason = fmt.Sprintf("%.20q… has %d bytes, at most %d fit", s, len(s), maxShort)
		}
	}
	p.Headers = table(p.Headers)
	if err := amqp.Table(p.Headers).Validate(); err != nil {
		reason = err.Error()
	}
	if n, err := tableSize(p.Headers); err != nil {
		reason = err.Error()
	} else if n > headersLimit {
		reason = fmt.Sprintf("its headers have %d bytes, at most %d fit", n, headersLimit)
	}
	if reason == "" {
		return nil
	}
	return &broker.Error{Op: "publish", Object: p.Exchange, Kind: broker.ErrMessage, Reason: reason}
}

// table gives values the types the library sends as they are: it knows tables
// only by its own name for them, and cuts an int to 32 bits. The map is copied
// only when something in it must change.
func table(t map[string]any) amqp.Table {
	out, copied := t, false
	for k, v := range t {
		w, changed := field(v)
		if !changed {
			continue
		}
		if !copied {
			out, copied = maps.Clone(t), true
		}
		out[k] = w
	}
	return out
}

func field(v any) (w any, changed bool) {
	switch v := v.(type) {
	case map[string]any:
		return table(v), true
	case amqp.Table:
		return table(v), true
	case int:
		return int64(v), v < math.MinInt32 || v > math.MaxInt32
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = e
			if f, ok := field(e); ok {
				out[i], changed = f, true
			}
		}
		return out, changed
	}
	return v, false
}

// tableSize is at least what t takes on the wire, in bytes.
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
	return n + fieldFixed, nil
}

func valueSize(v any) (n int, err error) {
	switch v := v.(type) {
	case string:
		n = len(v)
	case []byte:
		n = len(v)
	case float32:
		return fieldFixed, finite(float64(v))
	case float64:
		return fieldFixed, finite(v)
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
