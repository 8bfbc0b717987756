package brokertest

import (
	"time"

	"srpump/pump/broker"
)

func lifetimeChecks() []check {
	return []check{
		{"a queue's message ttl", true, messageTTL},
		{"a publishing's own expiration", true, expiration},
		{"an unused queue expires", true, expiry},
		{"a consumed queue does not expire", true, noExpiry},
		{"auto-delete with the last consumer", true, autoDelete},
		{"an exclusive queue is its connection's", true, exclusive},
	}
}

func messageTTL(e *env) {
	x := e.exchange()
	q := e.queue(func(q *broker.Queue) { q.MessageTTL = 300 * time.Millisecond })
	e.bind(q, x, "#")
	e.publish(x, "k", numbered("t", 5)...)
	e.eventually("all expired", func() bool { return e.ready(q) == 0 })
}

func expiration(e *env) {
	x, q := e.route()
	e.send(broker.Publishing{Exchange: x, Key: "k", Body: []byte("short"), Expiration: "200"})
	e.eventually("expired", func() bool { return e.ready(q) == 0 })
	e.send(broker.Publishing{Exchange: x, Key: "k", Body: []byte("long"), Expiration: "3600000"})
	e.equal(e.take(e.consume(e.conn, q, 1), 1), []string{"long"})
}

func expiry(e *env) {
	x := e.exchange()
	q := e.queue(func(q *broker.Queue) { q.Expires = 500 * time.Millisecond })
	e.bind(q, x, "#")
	e.publish(x, "k", "lost with it")
	ttl := time.NewTimer(2 * time.Second) // a passive declaration counts as use, so look rarely
	defer ttl.Stop()
	<-ttl.C
	e.wants(e.outcome(broker.Publishing{Exchange: x, Key: "k", Mandatory: true}), broker.ErrUnroutable)
	if e.exists(q) {
		e.Fatal("the queue is still there")
	}
}

func noExpiry(e *env) {
	x := e.exchange()
	q := e.queue(func(q *broker.Queue) { q.Expires = 500 * time.Millisecond })
	e.bind(q, x, "#")
	c := e.consume(e.conn, q, 1)
	end := time.NewTimer(1500 * time.Millisecond)
	defer end.Stop()
	<-end.C
	e.send(broker.Publishing{Exchange: x, Key: "k", Body: []byte("1"), Mandatory: true})
	e.equal(e.take(c, 1), []string{"1"})
}

func autoDelete(e *env) {
	q := e.queue(func(q *broker.Queue) { q.AutoDelete = true })
	a, b := e.consume(e.open(), q, 1), e.consume(e.open(), q, 1)
	e.must(a.Close())
	if !e.exists(q) {
		e.Fatal("deleted with a consumer left")
	}
	e.must(b.Close())
	e.eventually("the queue is deleted", func() bool { return !e.exists(q) })
}

func exclusive(e *env) {
	owner := e.open()
	q := broker.Queue{Name: e.name("q"), Exclusive: true}
	_, err := owner.DeclareQueue(e.ctx, q)
	e.must(err)
	_, err = e.conn.DeclareQueue(e.ctx, q)
	e.wants(err, broker.ErrLocked)
	_, err = e.conn.Consume(e.ctx, q.Name, broker.ConsumeOptions{})
	e.wants(err, broker.ErrLocked)
	e.publish("", q.Name, "mine")
	e.equal(e.take(e.consume(owner, q.Name, 1), 1), []string{"mine"})
	e.must(owner.Close())
	e.eventually("deleted with its connection", func() bool { return !e.exists(q.Name) })
}
