package spool

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	amqp "github.com/rabbitmq/amqp091-go"
)

// Headers are written as JSON that keeps their types: text, truth and nothing as they are, all else
// as an object of one member whose name is the type (sr_spool(1), THE META).
//
//	{"sum":"d,0a","size":{"int64":5},"seen":{"time":1700000000},"deep":{"table":{"a":true}}}

// A pair is an entry of a table that has a name which is no text.
type pair struct {
	Name  []byte `json:"name"` // base64
	Value any    `json:"value"`
}

// toJSON is a header value as encoding/json takes it.
func toJSON(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool:
		return v, nil
	case string:
		if utf8.ValidString(v) {
			return v, nil
		}
		return typed("string64", base64.StdEncoding.EncodeToString([]byte(v))), nil
	case []byte:
		return typed("bytes", base64.StdEncoding.EncodeToString(v)), nil
	case time.Time:
		return typed("time", v.Unix()), nil
	case amqp.Decimal:
		return typed("decimal", []int64{int64(v.Scale), int64(v.Value)}), nil
	case float32:
		return typed("float32", floatJSON(float64(v), math.Float32bits(v))), nil
	case float64:
		return typed("float64", floatJSON(v, math.Float64bits(v))), nil
	case []any:
		return listJSON(v)
	case amqp.Table:
		return tableJSON(v)
	case map[string]any:
		return tableJSON(v)
	}
	return integerJSON(v)
}

func typed(name string, v any) map[string]any { return map[string]any{name: v} }

func integerJSON(v any) (any, error) {
	switch v.(type) {
	case int8, uint8, int16, uint16, int32, uint32, int64, uint64:
		return typed(fmt.Sprintf("%T", v), v), nil
	case int:
		return typed("int64", v), nil
	}
	return nil, fmt.Errorf("a header of type %T", v)
}

// floatJSON writes what JSON has no number for by its bits.
func floatJSON[B uint32 | uint64](v float64, bits B) any {
	if math.IsNaN(v) || math.IsInf(v, 0) || v == 0 && math.Signbit(v) {
		return strconv.FormatUint(uint64(bits), 16)
	}
	return v
}

func listJSON(l []any) (any, error) {
	out := make([]any, len(l))
	for i, e := range l {
		v, err := toJSON(e)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return typed("array", out), nil
}

func tableJSON(t map[string]any) (any, error) {
	members, err := headersJSON(t)
	if err != nil {
		return nil, err
	}
	if pairs, odd := members.([]pair); odd {
		return typed("pairs", pairs), nil
	}
	return typed("table", members), nil
}

// headersJSON is a whole table: an object, or a list of pairs where a name is no text.
func headersJSON(t map[string]any) (any, error) {
	members, pairs, odd := make(map[string]any, len(t)), []pair(nil), false
	for k, v := range t {
		w, err := toJSON(v)
		if err != nil {
			return nil, fmt.Errorf("header %q: %w", k, err)
		}
		members[k], pairs = w, append(pairs, pair{[]byte(k), w})
		odd = odd || !utf8.ValidString(k)
	}
	if odd {
		return pairs, nil
	}
	return members, nil
}

var errValue = errors.New("a header value that is neither text, true, false, null nor one typed value")

// readHeaders is headersJSON backwards.
func readHeaders(raw json.RawMessage) (map[string]any, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] == '[' {
		return readPairs(raw)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(members))
	for k, m := range members {
		v, err := readValue(m)
		if err != nil {
			return nil, fmt.Errorf("header %q: %w", k, err)
		}
		out[k] = v
	}
	return out, nil
}

func readPairs(raw json.RawMessage) (map[string]any, error) {
	var pairs []struct {
		Name  []byte          `json:"name"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(raw, &pairs); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(pairs))
	for _, p := range pairs {
		v, err := readValue(p.Value)
		if err != nil {
			return nil, fmt.Errorf("header %q: %w", p.Name, err)
		}
		out[string(p.Name)] = v
	}
	return out, nil
}

// readValue is toJSON backwards.
func readValue(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, errValue
	}
	if raw[0] != '{' {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, err
		}
		switch v.(type) {
		case nil, bool, string:
			return v, nil
		}
		return nil, errValue
	}
	var one map[string]json.RawMessage
	if err := json.Unmarshal(raw, &one); err != nil || len(one) != 1 {
		return nil, errors.Join(err, errValue)
	}
	for name, v := range one {
		return readTyped(name, v)
	}
	return nil, errValue
}

func readTyped(name string, raw json.RawMessage) (any, error) {
	switch name {
	case "string64":
		b, err := into[[]byte](raw)
		return string(b), err
	case "bytes":
		return into[[]byte](raw)
	case "time":
		s, err := into[int64](raw)
		return time.Unix(s, 0).UTC(), err
	case "decimal":
		return readDecimal(raw)
	case "float32":
		return readFloat(raw, 32, func(f float64) any { return float32(f) }, func(b uint64) any { return math.Float32frombits(uint32(b)) })
	case "float64":
		return readFloat(raw, 64, func(f float64) any { return f }, func(b uint64) any { return math.Float64frombits(b) })
	case "array":
		return readList(raw)
	case "table", "pairs":
		t, err := readHeaders(raw)
		return amqp.Table(t), err
	}
	return readInteger(name, raw)
}

func into[T any](raw json.RawMessage) (v T, err error) {
	err = json.Unmarshal(raw, &v)
	return v, err
}

func boxed[T any](raw json.RawMessage) (any, error) { return into[T](raw) }

func readInteger(name string, raw json.RawMessage) (any, error) {
	switch name {
	case "int8":
		return boxed[int8](raw)
	case "uint8":
		return boxed[uint8](raw)
	case "int16":
		return boxed[int16](raw)
	case "uint16":
		return boxed[uint16](raw)
	case "int32":
		return boxed[int32](raw)
	case "uint32":
		return boxed[uint32](raw)
	case "int64":
		return boxed[int64](raw)
	case "uint64":
		return boxed[uint64](raw)
	}
	return nil, fmt.Errorf("no type %q", name)
}

func readDecimal(raw json.RawMessage) (any, error) {
	var d [2]int64
	err := json.Unmarshal(raw, &d)
	if err == nil && (d[0] < 0 || d[0] > math.MaxUint8 || d[1] < math.MinInt32 || d[1] > math.MaxInt32) {
		err = errors.New("a decimal out of range")
	}
	return amqp.Decimal{Scale: uint8(d[0]), Value: int32(d[1])}, err
}

func readFloat(raw json.RawMessage, bits int, number func(float64) any, pattern func(uint64) any) (any, error) {
	if raw[0] == '"' {
		text, err := into[string](raw)
		if err != nil {
			return nil, err
		}
		n, err := strconv.ParseUint(text, 16, bits)
		return pattern(n), err
	}
	f, err := strconv.ParseFloat(string(raw), bits)
	return number(f), err
}

func readList(raw json.RawMessage) (any, error) {
	items, err := into[[]json.RawMessage](raw)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(items))
	for i, m := range items {
		if out[i], err = readValue(m); err != nil {
			return nil, err
		}
	}
	return out, nil
}
