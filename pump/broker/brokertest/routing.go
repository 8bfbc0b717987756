package brokertest

import (
	"strings"

	"srpump/pump/broker"
)

func routingChecks() []check {
	return []check{
		{"topic patterns", true, topicPatterns},
		{"one copy for two matching bindings", true, oneCopy},
		{"fan-out to several queues", false, fanOut},
		{"unbind stops routing", true, unbindStops},
		{"default exchange reaches a queue by name", true, defaultExchange},
		{"long and utf-8 keys", true, oddKeys},
	}
}

// topicPatterns publishes every key once and asks each queue, bound by one
// pattern, which keys came.
func topicPatterns(e *env) {
	keys := []string{"a", "a.b", "a.b.c", "a.b.c.d", "b", "b.a", "a.a.b", "", "a.", ".a", "a..b", "v02.post.x.y.z"}
	cases := map[string]string{ // pattern → keys by position
		"#":           "0 1 2 3 4 5 6 7 8 9 10 11",
		"*":           "0 4",
		"a":           "0",
		"a.#":         "0 1 2 3 6 8 10",
		"a.*":         "1 8",
		"#.b":         "1 4 6 10",
		"*.b":         "1",
		"a.*.b":       "6 10",
		"a.#.b":       "1 6 10",
		"#.b.#":       "1 2 3 4 5 6 10",
		"*.*.#":       "1 2 3 5 6 8 9 10 11",
		"v02.post.#":  "11",
		"#.#":         "0 1 2 3 4 5 6 7 8 9 10 11",
		"a.b*":        "",
		"v02.*.x.*.z": "11",
	}
	x := e.exchange()
	queues := map[string]string{}
	for pattern := range cases {
		queues[pattern] = e.queue()
		e.bind(queues[pattern], x, pattern)
	}
	for i, k := range keys {
		e.publish(x, k, itoa(i))
	}
	for pattern, want := range cases {
		w := strings.Fields(want)
		if n := e.ready(queues[pattern]); n != len(w) {
			e.Errorf("pattern %q took %d keys, want %d", pattern, n, len(w))
			continue
		}
		e.equal(e.take(e.consume(e.conn, queues[pattern], 50), len(w)), w)
	}
}

func oneCopy(e *env) {
	x, q := e.route()
	e.bind(q, x, "a.*")
	e.bind(q, x, "#")
	e.publish(x, "a.b", "1")
	if n := e.ready(q); n != 1 {
		e.Fatalf("%d copies, want 1", n)
	}
}

func fanOut(e *env) {
	x := e.exchange()
	var queues []string
	for range 5 {
		q := e.queue()
		e.bind(q, x, "a.#")
		queues = append(queues, q)
	}
	want := numbered("f", 50)
	e.publishMany(e.conn, x, "a.b", want)
	for _, q := range queues {
		e.sameSet(e.take(e.consume(e.conn, q, 10), 50), want)
	}
}

func unbindStops(e *env) {
	x, q := e.exchange(), e.queue()
	b := broker.Binding{Queue: q, Exchange: x, Pattern: "a"}
	e.bind(q, x, "a")
	e.bind(q, x, "end")
	e.publish(x, "a", "before")
	e.must(e.conn.Unbind(e.ctx, b))
	e.must(e.conn.Unbind(e.ctx, b))
	e.publish(x, "a", "after")
	e.publish(x, "end", "end")
	e.equal(e.take(e.consume(e.conn, q, 10), 2), []string{"before", "end"})
}

func defaultExchange(e *env) {
	q := e.queue()
	e.publish("", q, "direct")
	e.equal(e.take(e.consume(e.conn, q, 1), 1), []string{"direct"})
}

func oddKeys(e *env) {
	x, q := e.route()
	keys := []string{strings.Repeat("k", 255), strings.Repeat("é", 127), "v02.post.été.日本.🙂", "with space.and\nline"}
	for _, k := range keys {
		e.publish(x, k, "x")
	}
	c := e.consume(e.conn, q, 10)
	for _, k := range keys {
		if d := e.next(c); d.Key != k || d.Exchange != x {
			e.Errorf("key %q through %q, want %q through %q", d.Key, d.Exchange, k, x)
		}
	}
}
