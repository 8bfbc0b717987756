package brokertest

import (
	"bytes"
	"reflect"
	"strings"
	"time"

	"srpump/pump/broker"
)

func contentChecks() []check {
	return []check{
		{"headers of every type", true, headers},
		{"properties", true, properties},
		{"bodies empty, binary and large", true, bodies},
		{"many headers and long values", true, manyHeaders},
	}
}

// roundTrip sends one publishing through a queue.
func (e *env) roundTrip(p broker.Publishing) *broker.Delivery {
	e.Helper()
	x, q := e.route()
	p.Exchange, p.Key = x, "k"
	e.send(p)
	c := e.consume(e.conn, q, 1)
	d := e.next(c)
	e.must(c.Ack(d.Tag))
	return d
}

func headers(e *env) {
	want := map[string]any{
		"bool": true, "false": false,
		"int8": int8(-5), "int16": int16(-300), "int32": int32(-70000), "int64": int64(-1 << 40),
		"uint8": uint8(200), "uint16": uint16(60000), "uint32": uint32(4e9),
		"float32": float32(1.5), "float64": 3.25,
		"string": "d,5d41402abc4b2a76b9719d911017c592", "empty": "", "utf8": "été 🙂", "nul": "a\x00b",
		"bytes": []byte{0, 1, 255}, "nil": nil,
		"time":  time.Unix(1700000000, 0).UTC(),
		"table": map[string]any{"a": int32(1), "deep": map[string]any{"b": "c"}},
		"array": []any{"x", int64(2), true, nil, []any{"nested"}, map[string]any{"k": "v"}},
	}
	got := plain(e.roundTrip(broker.Publishing{Headers: want}).Headers).(map[string]any)
	for k, w := range want {
		if !reflect.DeepEqual(got[k], w) {
			e.Errorf("header %s: got %#v (%T), want %#v (%T)", k, got[k], got[k], w, w)
		}
	}
	if len(got) != len(want) {
		e.Errorf("%d headers, want %d", len(got), len(want))
	}
}

// plain turns named map types into map[string]any and times into UTC, so that values can be compared.
func plain(v any) any {
	if t, ok := v.(time.Time); ok {
		return t.UTC()
	}
	rv := reflect.ValueOf(v)
	switch {
	case rv.Kind() == reflect.Map:
		m := map[string]any{}
		for _, k := range rv.MapKeys() {
			m[k.String()] = plain(rv.MapIndex(k).Interface())
		}
		return m
	case rv.Kind() == reflect.Slice && rv.Type().Elem().Kind() == reflect.Interface:
		s := make([]any, rv.Len())
		for i := range s {
			s[i] = plain(rv.Index(i).Interface())
		}
		return s
	}
	return v
}

func properties(e *env) {
	want := broker.Publishing{
		ContentType: "application/json", ContentEncoding: "gzip", Priority: 5,
		Expiration: "3600000", CorrelationID: "corr", ReplyTo: "answers", MessageID: "id-1",
		Type: "kind", AppID: "app", Timestamp: time.Unix(1700000000, 0).UTC(),
	}
	for _, transient := range []bool{false, true} {
		want.Transient = transient
		got := e.roundTrip(want).Publishing
		got.Exchange, got.Key, got.Body, got.Headers = "", "", nil, nil
		got.Timestamp = got.Timestamp.UTC()
		if !reflect.DeepEqual(got, want) {
			e.Errorf("got %+v, want %+v", got, want)
		}
	}
	if got := e.roundTrip(broker.Publishing{}); !got.Timestamp.IsZero() || got.Transient || got.ContentType != "" {
		e.Errorf("properties made up: %+v", got)
	}
}

func bodies(e *env) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for _, want := range [][]byte{{}, {0}, []byte("a\x00b\xff\n"), large} {
		if got := e.roundTrip(broker.Publishing{Body: want}).Body; !bytes.Equal(got, want) {
			e.Errorf("body of %d bytes came back as %d bytes", len(want), len(got))
		}
	}
}

func manyHeaders(e *env) {
	want := map[string]any{}
	for i := range 200 {
		want["h"+itoa(i)] = strings.Repeat("v", i)
	}
	want["long"] = strings.Repeat("x", 70000)
	got := plain(e.roundTrip(broker.Publishing{Headers: want}).Headers)
	if !reflect.DeepEqual(got, want) {
		e.Error("string headers changed on the way")
	}
}
