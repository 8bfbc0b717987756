package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"sort"
	"time"

	"srpump/pump/broker"
)

// Properties and headers are stored as a sequence of tagged values. Tags are
// the letters AMQP 0-9-1 gives its field types (RabbitMQ's errata), and U for
// a uint64, which AMQP has not.
var errDamaged = errors.New("stored properties are damaged")

// encodeProperties is everything of p but its exchange, key and body.
func encodeProperties(p *broker.Publishing) []byte {
	b := make([]byte, 0, 256)
	var bits byte
	if p.Transient {
		bits |= 1
	}
	b = append(b, bits, p.Priority)
	for _, s := range []string{p.ContentType, p.ContentEncoding, p.Expiration, p.CorrelationID,
		p.ReplyTo, p.MessageID, p.Type, p.UserID, p.AppID} {
		b = appendString(b, s)
	}
	var at int64 // seconds plus one, so that 0 is absent
	if !p.Timestamp.IsZero() {
		at = p.Timestamp.Unix() + 1
	}
	b = binary.AppendVarint(b, at)
	return appendTable(b, p.Headers)
}

func decodeProperties(b []byte, p *broker.Publishing) (err error) {
	r := reader{b: b}
	p.Transient = r.byte()&1 != 0
	p.Priority = r.byte()
	for _, s := range []*string{&p.ContentType, &p.ContentEncoding, &p.Expiration, &p.CorrelationID,
		&p.ReplyTo, &p.MessageID, &p.Type, &p.UserID, &p.AppID} {
		*s = r.string()
	}
	if at := r.varint(); at != 0 {
		p.Timestamp = time.Unix(at-1, 0).UTC()
	}
	if t := r.table(); len(t) > 0 {
		p.Headers = t
	}
	return r.err
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendTable writes a table with its keys in order, so that equal ones are equal bytes.
func appendTable(b []byte, t map[string]any) []byte {
	b = binary.AppendUvarint(b, uint64(len(t)))
	keys := make([]string, 0, len(t))
	for k := range t {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		b = appendString(b, k)
		if s, ok := t[k].(string); ok {
			b = appendString(append(b, 'S'), s)
			continue
		}
		b = appendValue(b, t[k])
	}
	return b
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 'V')
	case string:
		return appendString(append(b, 'S'), v)
	case []byte:
		return appendString(append(b, 'x'), string(v))
	case bool:
		if v {
			return append(b, 't', 1)
		}
		return append(b, 't', 0)
	case float32:
		return binary.BigEndian.AppendUint32(append(b, 'f'), math.Float32bits(v))
	case float64:
		return binary.BigEndian.AppendUint64(append(b, 'd'), math.Float64bits(v))
	case time.Time:
		return binary.AppendVarint(append(b, 'T'), v.Unix())
	case map[string]any:
		return appendTable(append(b, 'F'), v)
	case []any:
		b = binary.AppendUvarint(append(b, 'A'), uint64(len(v)))
		for _, e := range v {
			b = appendValue(b, e)
		}
		return b
	}
	return appendOther(b, v)
}

// appendOther writes integers of any width, named types, and the text of what AMQP cannot hold.
func appendOther(b []byte, v any) []byte {
	switch v := v.(type) {
	case int8:
		return binary.AppendVarint(append(b, 'b'), int64(v))
	case uint8:
		return binary.AppendVarint(append(b, 'B'), int64(v))
	case int16:
		return binary.AppendVarint(append(b, 's'), int64(v))
	case uint16:
		return binary.AppendVarint(append(b, 'u'), int64(v))
	case int32:
		return binary.AppendVarint(append(b, 'I'), int64(v))
	case uint32:
		return binary.AppendVarint(append(b, 'i'), int64(v))
	case int64:
		return binary.AppendVarint(append(b, 'l'), v)
	case int:
		return binary.AppendVarint(append(b, 'l'), int64(v))
	case uint64:
		return binary.AppendUvarint(append(b, 'U'), v)
	}
	return appendNamed(b, reflect.ValueOf(v))
}

// appendNamed writes named maps and slices, such as a client library's own
// table type, as plain ones; anything else becomes its text.
func appendNamed(b []byte, v reflect.Value) []byte {
	switch {
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		t := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			t[it.Key().String()] = it.Value().Interface()
		}
		return appendTable(append(b, 'F'), t)
	case v.Kind() == reflect.Slice:
		b = binary.AppendUvarint(append(b, 'A'), uint64(v.Len()))
		for i := range v.Len() {
			b = appendValue(b, v.Index(i).Interface())
		}
		return b
	}
	return appendString(append(b, 'S'), fmt.Sprint(v))
}
