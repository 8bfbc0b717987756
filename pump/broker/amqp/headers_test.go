package amqp

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
)

// Values are sent as what they are, and the caller's map is left alone.
func TestTable(t *testing.T) {
	in := map[string]any{"s": "x", "t": map[string]any{"a": []any{map[string]any{}}}, "big": 1 << 40, "small": 7}
	got := table(in)
	want := amqp.Table{"s": "x", "t": amqp.Table{"a": []any{amqp.Table{}}}, "big": int64(1 << 40), "small": 7}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("table = %#v", got)
	}
	if _, ok := in["t"].(map[string]any); !ok {
		t.Error("the caller's map was changed")
	}
}

// What would break the connection is refused before it is sent.
func TestCheck(t *testing.T) {
	long := strings.Repeat("x", 256)
	for name, p := range map[string]broker.Publishing{
		"key":         {Key: long},
		"property":    {ContentType: long},
		"header name": {Headers: map[string]any{long: "v"}},
		"type":        {Headers: map[string]any{"h": struct{}{}}},
		"deep type":   {Headers: map[string]any{"h": map[string]any{"i": make(chan int)}}},
		"size":        {Headers: map[string]any{"h": strings.Repeat("x", frameSize)}},
	} {
		if err := check(&p); !errors.Is(err, broker.ErrMessage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := check(&broker.Publishing{Key: long[1:], Headers: map[string]any{long[1:]: long}}); err != nil {
		t.Error(err)
	}
}

// A number RabbitMQ cannot hold is refused before it ends the connection, and all else on it.
func TestNotFinite(t *testing.T) {
	for _, v := range []any{math.NaN(), math.Inf(1), float32(math.Inf(-1)), []any{math.NaN()}, map[string]any{"k": math.NaN()}} {
		p := broker.Publishing{Headers: map[string]any{"h": v}}
		if err := check(&p); !errors.Is(err, broker.ErrMessage) {
			t.Errorf("%v: %v", v, err)
		}
	}
}
