package brokertest

import (
	"errors"

	"srpump/pump/broker"
)

func closeChecks() []check {
	return []check{
		{"close calls each done once", true, closeDone},
		{"nothing works after close", true, afterClose},
		{"close wakes who waits", true, closeWakes},
		{"close twice", true, closeTwice},
	}
}

func closeDone(e *env) {
	x, _ := e.route()
	p := e.publisher(e.conn, broker.PublishOptions{Window: 5000})
	var t tally
	for range 2000 {
		e.must(p.Publish(e.ctx, broker.Publishing{Exchange: x, Key: "k"}, t.note))
	}
	e.must(p.Close())
	calls, errs := t.read()
	if calls != 2000 {
		e.Fatalf("done called %d times for 2000 publishings", calls)
	}
	for _, err := range errs {
		if !errors.Is(err, broker.ErrClosed) {
			e.Fatalf("done told %v, want closed", err)
		}
	}
}

func afterClose(e *env) {
	x, q := e.route()
	conn := e.open()
	c, p := e.consume(conn, q, 1), e.publisher(conn, broker.PublishOptions{})
	e.must(conn.Close())
	_, nextErr := c.Next(e.ctx)
	_, declareErr := conn.DeclareQueue(e.ctx, broker.Queue{Name: q, Passive: true})
	_, consumeErr := conn.Consume(e.ctx, q, broker.ConsumeOptions{})
	_, publisherErr := conn.Publisher(e.ctx, broker.PublishOptions{})
	for what, err := range map[string]error{
		"next":      nextErr,
		"declare":   declareErr,
		"consume":   consumeErr,
		"publisher": publisherErr,
		"publish":   p.Publish(e.ctx, broker.Publishing{Exchange: x}, func(error) { e.Error("done called") }),
		"bind":      conn.Bind(e.ctx, broker.Binding{Queue: q, Exchange: x, Pattern: "a"}),
	} {
		if !errors.Is(err, broker.ErrClosed) {
			e.Errorf("%s after close: %v, want closed", what, err)
		}
	}
}

func closeWakes(e *env) {
	_, q := e.route()
	conn := e.open()
	c := e.consume(conn, q, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Next(e.ctx)
		ended <- err
	}()
	e.must(conn.Close())
	if err := e.await(ended); !errors.Is(err, broker.ErrClosed) {
		e.Fatalf("error %v, want closed", err)
	}
}

func closeTwice(e *env) {
	x, q := e.route()
	conn := e.open()
	c, p := e.consume(conn, q, 1), e.publisher(conn, broker.PublishOptions{})
	for range 2 {
		e.must(c.Close())
		e.must(p.Close())
		e.must(conn.Close())
	}
	e.publish(x, "k", "others go on")
}
