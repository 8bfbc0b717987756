package brokertest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"srpump/pump/broker"
)

func publishChecks() []check {
	return []check{
		{"a confirmed publishing is there", false, confirmed},
		{"publishing to no exchange is 404", true, publishMissing},
		{"mandatory without a queue is unroutable", true, mandatory},
		{"unrouted publishings are told", true, unrouted},
		{"the window holds back", true, window},
		{"done in the order of publishing", true, doneOrder},
		{"several publishers at once", false, manyPublishers},
		{"flush waits for all", false, flush},
		{"publish heeds its context", true, publishContext},
	}
}

func confirmed(e *env) {
	x, q := e.route()
	bodies := numbered("c", 200)
	e.publishMany(e.conn, x, "k", bodies)
	e.sameSet(e.take(e.consume(e.open(), q, 50), 200), bodies)
}

func publishMissing(e *env) {
	x, q := e.route()
	p := e.publisher(e.conn, broker.PublishOptions{})
	defer p.Close()
	results := make(chan error, 1)
	e.must(p.Publish(e.ctx, broker.Publishing{Exchange: e.name("x"), Key: "k"}, func(err error) { results <- err }))
	e.wants(e.await(results), broker.ErrNotFound)
	e.must(p.Publish(e.ctx, broker.Publishing{Exchange: x, Key: "k", Body: []byte("1")}, func(err error) { results <- err }))
	e.must(e.await(results))
	e.equal(e.take(e.consume(e.conn, q, 1), 1), []string{"1"})
}

func mandatory(e *env) {
	x := e.exchange()
	err := e.outcome(broker.Publishing{Exchange: x, Key: "k", Mandatory: true})
	e.wants(err, broker.ErrUnroutable)
	q := e.queue()
	e.bind(q, x, "k")
	e.send(broker.Publishing{Exchange: x, Key: "k", Mandatory: true})
}

func unrouted(e *env) {
	x, q := e.exchange(), e.queue()
	e.bind(q, x, "taken")
	var mu sync.Mutex
	var told []string
	p := e.publisher(e.conn, broker.PublishOptions{Unrouted: func(exchange, key string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, exchange+" "+key)
	}})
	defer p.Close()
	var t tally
	for _, k := range []string{"lost.1", "taken", "lost.2"} {
		e.must(p.Publish(e.ctx, broker.Publishing{Exchange: x, Key: k}, t.note))
	}
	e.must(p.Flush(e.ctx))
	if calls, errs := t.read(); calls != 3 || errs != nil {
		e.Fatalf("%d done, errors %v", calls, errs)
	}
	mu.Lock()
	defer mu.Unlock()
	e.equal(told, []string{x + " lost.1", x + " lost.2"})
}

func window(e *env) {
	x, _ := e.route()
	p := e.publisher(e.conn, broker.PublishOptions{Window: 4})
	defer p.Close()
	var open atomic.Int64
	for range 200 {
		open.Add(1)
		e.must(p.Publish(e.ctx, broker.Publishing{Exchange: x, Key: "k"}, func(error) { open.Add(-1) }))
		if n := open.Load(); n > 4 {
			e.Fatalf("%d unconfirmed with a window of 4", n)
		}
	}
	e.must(p.Flush(e.ctx))
}

func doneOrder(e *env) {
	x, _ := e.route()
	p := e.publisher(e.conn, broker.PublishOptions{})
	defer p.Close()
	var mu sync.Mutex
	var order []string
	for _, b := range numbered("", 500) {
		e.must(p.Publish(e.ctx, broker.Publishing{Exchange: x, Key: "k"}, func(error) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, b)
		}))
	}
	e.must(p.Flush(e.ctx))
	mu.Lock()
	defer mu.Unlock()
	e.equal(order, numbered("", 500))
}

func manyPublishers(e *env) {
	x, q := e.route()
	var all []string
	var wg sync.WaitGroup
	second := e.open()
	for i := range 6 {
		bodies := numbered("m"+itoa(i)+"-", 100)
		all = append(all, bodies...)
		c := e.conn
		if i%2 == 1 {
			c = second
		}
		wg.Go(func() { e.publishMany(c, x, "k", bodies) })
	}
	wg.Wait()
	e.sameSet(e.take(e.consume(e.conn, q, 100), len(all)), all)
}

func flush(e *env) {
	x, _ := e.route()
	p := e.publisher(e.conn, broker.PublishOptions{})
	defer p.Close()
	e.must(p.Flush(e.ctx))
	var t tally
	for round := 1; round <= 3; round++ {
		for range 100 {
			e.must(p.Publish(e.ctx, broker.Publishing{Exchange: x, Key: "k"}, t.note))
		}
		e.must(p.Flush(e.ctx))
		if calls, errs := t.read(); calls != round*100 || errs != nil {
			e.Fatalf("%d done after flush, errors %v", calls, errs)
		}
	}
}

func publishContext(e *env) {
	x, _ := e.route()
	p := e.publisher(e.conn, broker.PublishOptions{})
	defer p.Close()
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	err := p.Publish(ctx, broker.Publishing{Exchange: x, Key: "k"}, func(error) { e.Error("done called after an error") })
	if !errors.Is(err, context.Canceled) {
		e.Fatalf("error %v, want context canceled", err)
	}
	e.must(p.Flush(e.ctx))
}
