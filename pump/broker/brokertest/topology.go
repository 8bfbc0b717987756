package brokertest

import (
	"sort"
	"strconv"
	"time"

	"srpump/pump/broker"
)

func topologyChecks() []check {
	return []check{
		{"declaring again is harmless", false, declareAgain},
		{"declaring otherwise is 406", true, declareOtherwise},
		{"passive declaration looks only", true, passive},
		{"binding what is not there is 404", true, bindMissing},
		{"purge removes what is ready", true, purge},
		{"deleting a queue ends its consumers", true, deleteQueue},
		{"removing what is not there is no error", true, removeMissing},
		{"an exchange in use is 406 when ifUnused", true, deleteExchange},
		{"depth of a queue", true, depth},
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// sameSet compares bodies without regard to order.
func (e *env) sameSet(got, want []string) {
	e.Helper()
	g, w := append([]string(nil), got...), append([]string(nil), want...)
	sort.Strings(g)
	sort.Strings(w)
	e.equal(g, w)
}

func declareAgain(e *env) {
	x := e.name("x")
	q := broker.Queue{Name: e.name("q"), Expires: time.Hour, MessageTTL: time.Hour, Args: map[string]any{"x-max-length": int64(100000)}}
	for range 3 {
		e.must(e.conn.DeclareExchange(e.ctx, broker.Exchange{Name: x}))
		_, err := e.conn.DeclareQueue(e.ctx, q)
		e.must(err)
		e.bind(q.Name, x, "#")
	}
	e.publish(x, "k", "1")
	e.take(e.consume(e.conn, q.Name, 1), 1)
}

func declareOtherwise(e *env) {
	q := e.queue(func(q *broker.Queue) { q.Expires = time.Hour })
	for _, other := range []broker.Queue{
		{Name: q},
		{Name: q, Expires: 2 * time.Hour},
		{Name: q, Expires: time.Hour, MessageTTL: time.Hour},
		{Name: q, Expires: time.Hour, Args: map[string]any{"x-max-length": int64(7)}},
	} {
		_, err := e.conn.DeclareQueue(e.ctx, other)
		e.wants(err, broker.ErrPrecondition)
	}
	x := e.exchange()
	e.wants(e.conn.DeclareExchange(e.ctx, broker.Exchange{Name: x, AutoDelete: true}), broker.ErrPrecondition)
	if n := e.ready(q); n != 0 {
		e.Fatalf("depth %d after refusals", n)
	}
}

func passive(e *env) {
	q := e.name("q")
	_, err := e.conn.DeclareQueue(e.ctx, broker.Queue{Name: q, Passive: true})
	e.wants(err, broker.ErrNotFound)
	e.wants(e.conn.DeclareExchange(e.ctx, broker.Exchange{Name: e.name("x"), Passive: true}), broker.ErrNotFound)
	x := e.exchange()
	e.must(e.conn.DeclareExchange(e.ctx, broker.Exchange{Name: x, Passive: true}))
	if e.exists(q) {
		e.Fatal("a passive declaration made a queue")
	}
}

func bindMissing(e *env) {
	x, q := e.exchange(), e.queue()
	e.wants(e.conn.Bind(e.ctx, broker.Binding{Queue: q, Exchange: e.name("x"), Pattern: "#"}), broker.ErrNotFound)
	e.wants(e.conn.Bind(e.ctx, broker.Binding{Queue: e.name("q"), Exchange: x, Pattern: "#"}), broker.ErrNotFound)
}

func purge(e *env) {
	x, q := e.route()
	e.publish(x, "k", numbered("p", 10)...)
	n, err := e.conn.Purge(e.ctx, q)
	e.must(err)
	if n != 10 || e.ready(q) != 0 {
		e.Fatalf("purged %d, left %d", n, e.ready(q))
	}
	e.publish(x, "k", "after")
	e.equal(e.take(e.consume(e.conn, q, 1), 1), []string{"after"})
}

func deleteQueue(e *env) {
	x, q := e.route()
	c := e.consume(e.open(), q, 1)
	e.publish(x, "k", "1")
	e.take(c, 1)
	e.must(e.conn.DeleteQueue(e.ctx, q))
	_, err := c.Next(e.ctx)
	e.wants(err, broker.ErrNotFound)
	e.wants(e.outcome(broker.Publishing{Exchange: x, Key: "k", Mandatory: true}), broker.ErrUnroutable)
	_, err = e.conn.Consume(e.ctx, q, broker.ConsumeOptions{})
	e.wants(err, broker.ErrNotFound)
}

func removeMissing(e *env) {
	e.must(e.conn.DeleteQueue(e.ctx, e.name("q")))
	e.must(e.conn.DeleteExchange(e.ctx, e.name("x"), true))
	x, q := e.exchange(), e.queue()
	e.must(e.conn.Unbind(e.ctx, broker.Binding{Queue: q, Exchange: x, Pattern: "never.bound"}))
}

func deleteExchange(e *env) {
	x, q := e.route()
	e.wants(e.conn.DeleteExchange(e.ctx, x, true), broker.ErrPrecondition)
	e.must(e.conn.Unbind(e.ctx, broker.Binding{Queue: q, Exchange: x, Pattern: "#"}))
	e.must(e.conn.DeleteExchange(e.ctx, x, true))
	e.wants(e.outcome(broker.Publishing{Exchange: x, Key: "k"}), broker.ErrNotFound)
}

func depth(e *env) {
	x, q := e.route()
	e.publish(x, "k", numbered("d", 7)...)
	if n := e.ready(q); n != 7 {
		e.Fatalf("depth %d, want 7", n)
	}
	c := e.consume(e.conn, q, 7)
	e.take(c, 7)
	e.eventually("an empty queue", func() bool { return e.ready(q) == 0 })
}
