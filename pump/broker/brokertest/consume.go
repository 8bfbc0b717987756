package brokertest

import (
	"context"
	"errors"
	"sync"
	"time"

	"srpump/pump/broker"
)

func consumeChecks() []check {
	return []check{
		{"order of a queue", true, order},
		{"prefetch bounds what is unacknowledged", true, prefetch},
		{"acknowledged deliveries do not return", true, acked},
		{"acks in any order and grouping", false, ackAnyOrder},
		{"unacknowledged deliveries return redelivered", true, redelivered},
		{"reject with requeue", true, rejectRequeue},
		{"reject without requeue drops", true, rejectDrop},
		{"stale and unknown tags are passed over", true, staleTags},
		{"consuming what is not there is 404", true, consumeMissing},
		{"a waiting consumer is woken", false, wake},
		{"next heeds its context", true, nextContext},
	}
}

func order(e *env) {
	x, q := e.route()
	want := numbered("o", 1000)
	e.publishMany(e.conn, x, "k", want)
	e.equal(e.take(e.consume(e.conn, q, 0), 1000), want)
}

func prefetch(e *env) {
	x, q := e.route()
	e.publish(x, "k", numbered("p", 10)...)
	c := e.consume(e.conn, q, 3)
	var held []broker.Tag
	for range 3 {
		held = append(held, e.next(c).Tag)
	}
	e.silent(c)
	e.must(c.Ack(held[1]))
	if d := e.next(c); string(d.Body) != "p000003" {
		e.Fatalf("got %q after an ack", d.Body)
	}
	e.silent(c)
}

func acked(e *env) {
	x, q := e.route()
	conn := e.open()
	e.publish(x, "k", numbered("a", 20)...)
	e.take(e.consume(conn, q, 5), 20)
	e.must(conn.Close())
	e.eventually("an empty queue", func() bool { return e.ready(q) == 0 })
	e.publish(x, "k", "last")
	e.equal(e.take(e.consume(e.conn, q, 5), 1), []string{"last"})
}

func ackAnyOrder(e *env) {
	x, q := e.route()
	bodies := numbered("r", 60)
	e.publishMany(e.conn, x, "k", bodies)
	c := e.consume(e.conn, q, 60)
	seen := map[string]bool{}
	var held []broker.Tag
	for len(seen) < 60 {
		d := e.next(c)
		seen[string(d.Body)] = true
		held = append(held, d.Tag)
		if len(held) == 20 {
			e.ackScattered(c, held)
			held = nil
		}
	}
	e.ackScattered(c, held)
	e.must(c.Close())
	if !e.cutting {
		e.eventually("an empty queue", func() bool { return e.ready(q) == 0 })
	}
}

// ackScattered acknowledges odd positions from the end, then the even ones together.
func (e *env) ackScattered(c broker.Consumer, tags []broker.Tag) {
	var even []broker.Tag
	for i := len(tags) - 1; i >= 0; i-- {
		if i%2 == 0 {
			even = append(even, tags[i])
			continue
		}
		e.must(c.Ack(tags[i]))
	}
	e.must(c.Ack(even...))
}

func redelivered(e *env) {
	x, q := e.route()
	e.publish(x, "k", numbered("u", 5)...)
	first := e.open()
	c := e.consume(first, q, 3)
	var tags []broker.Tag
	for range 3 {
		d := e.next(c)
		if d.Redelivered {
			e.Errorf("%q is marked redelivered at first sight", d.Body)
		}
		tags = append(tags, d.Tag)
	}
	e.must(c.Ack(tags[1]))
	e.must(first.Close())
	e.eventually("four ready", func() bool { return e.ready(q) == 4 })
	c = e.consume(e.conn, q, 10)
	for _, want := range []string{"u000000", "u000002", "u000003", "u000004"} {
		d := e.next(c)
		handed := want < "u000003"                  // seen above
		maybe := want == "u000003" && d.Redelivered // a broker may push it as soon as it has the acknowledgement
		if string(d.Body) != want || d.Redelivered != handed && !maybe {
			e.Errorf("got %q redelivered %v, want %q %v", d.Body, d.Redelivered, want, handed)
		}
	}
}

func rejectRequeue(e *env) {
	x, q := e.route()
	e.publish(x, "k", "1")
	c := e.consume(e.conn, q, 1)
	for range 3 {
		d := e.next(c)
		e.must(c.Reject(true, d.Tag))
	}
	d := e.next(c)
	if !d.Redelivered || string(d.Body) != "1" {
		e.Fatalf("got %q redelivered %v", d.Body, d.Redelivered)
	}
	e.must(c.Ack(d.Tag))
	e.must(c.Close())
	e.eventually("an empty queue", func() bool { return e.ready(q) == 0 })
}

func rejectDrop(e *env) {
	x, q := e.route()
	e.publish(x, "k", "drop", "keep")
	c := e.consume(e.conn, q, 1)
	e.must(c.Reject(false, e.next(c).Tag))
	e.equal(e.take(c, 1), []string{"keep"})
	e.must(c.Close())
	e.eventually("an empty queue", func() bool { return e.ready(q) == 0 })
}

func staleTags(e *env) {
	x, q := e.route()
	e.publish(x, "k", "1", "2")
	c := e.consume(e.conn, q, 1)
	d := e.next(c)
	e.must(c.Ack(broker.Tag{}, broker.Tag{Epoch: d.Tag.Epoch, N: d.Tag.N + 1000}, broker.Tag{Epoch: d.Tag.Epoch + 1, N: d.Tag.N}))
	e.must(c.Reject(true, broker.Tag{Epoch: d.Tag.Epoch - 1, N: d.Tag.N}))
	e.silent(c)
	e.must(c.Ack(d.Tag, d.Tag))
	e.must(c.Ack(d.Tag))
	e.must(c.Ack())
	e.equal(e.take(c, 1), []string{"2"})
}

func consumeMissing(e *env) {
	_, err := e.conn.Consume(e.ctx, e.name("q"), broker.ConsumeOptions{})
	e.wants(err, broker.ErrNotFound)
}

// wake logs how long a publishing takes to reach a consumer that waits on another connection.
func wake(e *env) {
	x, q := e.route()
	c := e.consume(e.open(), q, 1)
	var worst, total time.Duration
	const rounds = 20
	for i := range rounds {
		began := make(chan time.Time, 1)
		var publishing sync.WaitGroup
		publishing.Go(func() {
			began <- time.Now()
			e.publishMany(e.conn, x, "k", []string{itoa(i)})
		})
		for {
			d := e.next(c)
			e.must(c.Ack(d.Tag))
			if string(d.Body) == itoa(i) {
				break
			}
		}
		took := time.Since(<-began)
		worst, total = max(worst, took), total+took
		publishing.Wait() // a delivery may come before its confirm, which a cut delays
	}
	e.Logf("publish to delivery: mean %v, worst %v", total/rounds, worst)
}

func nextContext(e *env) {
	x, q := e.route()
	c := e.consume(e.conn, q, 1)
	ctx, cancel := context.WithCancel(e.ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Next(ctx)
		ended <- err
	}()
	cancel()
	if err := e.await(ended); !errors.Is(err, context.Canceled) {
		e.Fatalf("error %v, want context canceled", err)
	}
	e.publish(x, "k", "still here")
	e.equal(e.take(c, 1), []string{"still here"})
}
