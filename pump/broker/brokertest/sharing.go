package brokertest

import (
	"context"
	"sync"

	"srpump/pump/broker"
)

func sharingChecks() []check {
	return []check{
		{"two consumers share a queue", true, share},
		{"each delivery goes to one consumer", false, eachOnce},
		{"a closed consumer's deliveries go to the other", true, handOver},
	}
}

func share(e *env) {
	x, q := e.route()
	a, b := e.consume(e.open(), q, 5), e.consume(e.open(), q, 5)
	e.publishMany(e.conn, x, "k", numbered("s", 40))
	var got [2]int
	for range 5 { // both may hold five without any ack
		for i, c := range []broker.Consumer{a, b} {
			e.next(c)
			got[i]++
		}
	}
	if got != [2]int{5, 5} {
		e.Fatalf("shares %v, want five each", got)
	}
}

func eachOnce(e *env) {
	x, q := e.route()
	const n = 600
	var mu sync.Mutex
	seen := map[string]int{}
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	var wg sync.WaitGroup
	for range 3 {
		c := e.consume(e.open(), q, 10)
		wg.Go(func() {
			for {
				d, err := c.Next(ctx)
				if err != nil {
					return
				}
				if err := c.Ack(d.Tag); err != nil {
					e.Error(err)
				}
				mu.Lock()
				seen[string(d.Body)]++
				if len(seen) == n {
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	e.publishMany(e.conn, x, "k", numbered("e", n))
	wg.Wait()
	repeats := 0
	for _, times := range seen {
		repeats += times - 1
	}
	if len(seen) != n || (repeats > 0 && !e.cutting) {
		e.Fatalf("%d distinct, %d repeats, want %d and none", len(seen), repeats, n)
	}
}

func handOver(e *env) {
	x, q := e.route()
	a := e.consume(e.open(), q, 10)
	e.publish(x, "k", numbered("h", 4)...)
	for range 4 {
		e.next(a)
	}
	b := e.consume(e.open(), q, 10)
	e.must(a.Close())
	for range 4 {
		d := e.next(b)
		if !d.Redelivered {
			e.Errorf("%q is not marked redelivered", d.Body)
		}
		e.must(b.Ack(d.Tag))
	}
}
