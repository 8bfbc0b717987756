package retry

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"

	"srpump/post"
)

// Headers may hold any AMQP type, JSON has few. Values that are no text stand in the line
// as text, for older tools, and again in the header _retry_types: a JSON object of
// header name to {"<type>": value}.

// textHeaders turns every value of h into text and adds headerTypes where needed.
func textHeaders(h map[string]any) error {
	types := map[string]any{}
	for k, v := range h {
		if s, ok := v.(string); ok && utf8.ValidString(s) {
			continue
		}
		types[k] = tag(v)
		h[k] = asText(v)
	}
	if len(types) == 0 {
		return nil
	}
	b, err := json.Marshal(types)
	h[headerTypes] = string(b)
	return err
}

func asText(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// tag writes a value with its type. Types no engine delivers become text.
func tag(v any) any {
	one := func(name string, v any) any { return map[string]any{name: v} }
	switch x := v.(type) {
	case nil:
		return one("nil", true)
	case bool:
		return one("bool", x)
	case string:
		return one("text", base64.StdEncoding.EncodeToString([]byte(x)))
	case []byte:
		return one("bytes", base64.StdEncoding.EncodeToString(x))
	case post.JSON:
		return one("json", string(x))
	case time.Time:
		return one("time", x.Format(time.RFC3339Nano))
	case []any:
		list := make([]any, len(x))
		for i := range x {
			list[i] = tag(x[i])
		}
		return one("list", list)
	}
	return tagKind(reflect.ValueOf(v))
}

func tagKind(r reflect.Value) any {
	switch k := r.Kind(); {
	case r.CanInt():
		return map[string]any{k.String(): strconv.FormatInt(r.Int(), 10)}
	case r.CanUint():
		return map[string]any{k.String(): strconv.FormatUint(r.Uint(), 10)}
	case k == reflect.Float32:
		return map[string]any{"float32": strconv.FormatUint(uint64(math.Float32bits(float32(r.Float()))), 16)}
	case k == reflect.Float64:
		return map[string]any{"float64": strconv.FormatUint(math.Float64bits(r.Float()), 16)}
	case k == reflect.Map && r.Type().Key().Kind() == reflect.String:
		table := map[string]any{}
		for it := r.MapRange(); it.Next(); {
			table[it.Key().String()] = tag(it.Value().Interface())
		}
		return map[string]any{"table": table}
	}
	return map[string]any{"text": base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(r.Interface())))}
}

// restore puts the values of types back into h.
func restore(h map[string]any, types string) error {
	var tagged map[string]map[string]json.RawMessage
	if err := json.Unmarshal([]byte(types), &tagged); err != nil {
		return err
	}
	for k, t := range tagged {
		v, err := untag(t)
		if err != nil {
			return err
		}
		h[k] = v
	}
	return nil
}

func untag(t map[string]json.RawMessage) (any, error) {
	for name, raw := range t {
		switch name {
		case "nil":
			return nil, nil
		case "bool":
			return string(raw) == "true", nil
		case "list":
			return untagList(raw)
		case "table":
			return untagTable(raw)
		}
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, err
		}
		return untagText(name, s)
	}
	return nil, fmt.Errorf("value without a type")
}

func untagText(name, s string) (any, error) {
	switch name {
	case "text":
		b, err := base64.StdEncoding.DecodeString(s)
		return string(b), err
	case "bytes":
		return base64.StdEncoding.DecodeString(s)
	case "json":
		return post.JSON(s), nil
	case "time":
		return time.Parse(time.RFC3339Nano, s)
	case "float32":
		n, err := strconv.ParseUint(s, 16, 32)
		return math.Float32frombits(uint32(n)), err
	case "float64":
		n, err := strconv.ParseUint(s, 16, 64)
		return math.Float64frombits(n), err
	}
	return untagInteger(name, s)
}

func untagInteger(name, s string) (any, error) {
	for _, zero := range []any{int(0), int8(0), int16(0), int32(0), int64(0), uint(0), uint8(0), uint16(0), uint32(0), uint64(0)} {
		r := reflect.New(reflect.TypeOf(zero)).Elem()
		if r.Kind().String() != name {
			continue
		}
		if r.CanInt() {
			n, err := strconv.ParseInt(s, 10, 64)
			r.SetInt(n)
			return r.Interface(), err
		}
		n, err := strconv.ParseUint(s, 10, 64)
		r.SetUint(n)
		return r.Interface(), err
	}
	return nil, fmt.Errorf("unknown type %q", name)
}

func untagList(raw json.RawMessage) (any, error) {
	var ts []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &ts); err != nil {
		return nil, err
	}
	list := make([]any, len(ts))
	for i, t := range ts {
		v, err := untag(t)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

func untagTable(raw json.RawMessage) (any, error) {
	table := map[string]any{}
	err := restore(table, string(raw))
	return table, err
}

// plain is a value of a line without types, as a Python tool writes it.
func plain(v any) any {
	n, ok := v.(json.Number)
	if !ok {
		return v
	}
	if i, err := n.Int64(); err == nil {
		return i
	}
	f, _ := n.Float64()
	return f
}
