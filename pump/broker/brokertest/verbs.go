package brokertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"srpump/pump/broker"
)

// exchange declares an exchange of the check's own.
func (e *env) exchange() string {
	e.Helper()
	x := e.name("x")
	e.must(e.conn.DeclareExchange(e.ctx, broker.Exchange{Name: x}))
	return x
}

// queue declares a queue of the check's own, changed by the given functions.
func (e *env) queue(with ...func(*broker.Queue)) string {
	e.Helper()
	q := broker.Queue{Name: e.name("q")}
	for _, f := range with {
		f(&q)
	}
	_, err := e.conn.DeclareQueue(e.ctx, q)
	e.must(err)
	return q.Name
}

func (e *env) bind(queue, exchange, pattern string) {
	e.Helper()
	e.must(e.conn.Bind(e.ctx, broker.Binding{Queue: queue, Exchange: exchange, Pattern: pattern}))
}

// route is an exchange with one queue bound to everything.
func (e *env) route() (exchange, queue string) {
	e.Helper()
	exchange, queue = e.exchange(), e.queue()
	e.bind(queue, exchange, "#")
	return exchange, queue
}

func (e *env) publisher(c broker.Conn, o broker.PublishOptions) broker.Publisher {
	e.Helper()
	p, err := c.Publisher(e.ctx, o)
	e.must(err)
	return p
}

// publish sends bodies and waits for the confirm of each.
func (e *env) publish(exchange, key string, bodies ...string) {
	e.Helper()
	for _, b := range bodies {
		e.send(broker.Publishing{Exchange: exchange, Key: key, Body: []byte(b)})
	}
}

// send publishes one and requires its confirm.
func (e *env) send(p broker.Publishing) {
	e.Helper()
	e.must(e.outcome(p))
}

// outcome publishes one through a publisher of its own and returns what done was told.
func (e *env) outcome(p broker.Publishing) error {
	e.Helper()
	pub := e.publisher(e.conn, broker.PublishOptions{})
	defer pub.Close()
	result := make(chan error, 1)
	e.must(pub.Publish(e.ctx, p, func(err error) { result <- err }))
	return e.await(result)
}

// await is the next value of a channel that must not stay silent.
func (e *env) await(c <-chan error) error {
	e.Helper()
	select {
	case err := <-c:
		return err
	case <-e.ctx.Done():
		e.Fatal("done was never called")
		return nil
	}
}

// publishMany sends bodies through one publisher and flushes.
func (e *env) publishMany(c broker.Conn, exchange, key string, bodies []string) {
	p := e.publisher(c, broker.PublishOptions{})
	defer p.Close()
	var failed tally
	for _, b := range bodies {
		e.must(p.Publish(e.ctx, broker.Publishing{Exchange: exchange, Key: key, Body: []byte(b)}, failed.note))
	}
	e.must(p.Flush(e.ctx))
	if calls, errs := failed.read(); calls != len(bodies) || len(errs) > 0 {
		e.Fatalf("%d of %d publishings done, errors %v", calls, len(bodies), errs)
	}
}

func (e *env) consume(c broker.Conn, queue string, prefetch int) broker.Consumer {
	e.Helper()
	cons, err := c.Consume(e.ctx, queue, broker.ConsumeOptions{Prefetch: prefetch})
	e.must(err)
	e.Cleanup(func() { cons.Close() })
	return cons
}

func (e *env) next(c broker.Consumer) *broker.Delivery {
	e.Helper()
	d, err := c.Next(e.ctx)
	e.must(err)
	return d
}

// take is the bodies of the next n deliveries, each acknowledged, repeats of
// one already seen left out while connections are being cut.
func (e *env) take(c broker.Consumer, n int) []string {
	e.Helper()
	var got []string
	seen := map[string]bool{}
	for len(got) < n {
		d := e.next(c)
		e.must(c.Ack(d.Tag))
		if e.cutting && seen[string(d.Body)] {
			continue
		}
		seen[string(d.Body)] = true
		got = append(got, string(d.Body))
	}
	return got
}

// silent requires that no delivery comes for a moment.
func (e *env) silent(c broker.Consumer) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.ctx, 150*time.Millisecond)
	defer cancel()
	if d, err := c.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		e.Fatalf("unexpected delivery %v, error %v", d, err)
	}
}

// eventually polls for what a broker does in its own time.
func (e *env) eventually(what string, ok func() bool) {
	e.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-e.ctx.Done():
			e.Fatalf("never happened: %s", what)
		}
	}
}

// ready is the depth of a queue by a passive declaration.
func (e *env) ready(queue string) int {
	e.Helper()
	n, err := e.conn.DeclareQueue(e.ctx, broker.Queue{Name: queue, Passive: true})
	e.must(err)
	return n
}

func (e *env) exists(queue string) bool {
	e.Helper()
	_, err := e.conn.DeclareQueue(e.ctx, broker.Queue{Name: queue, Passive: true})
	if err != nil && !errors.Is(err, broker.ErrNotFound) && !errors.Is(err, broker.ErrLocked) {
		e.Fatal(err)
	}
	return !errors.Is(err, broker.ErrNotFound)
}

// wants requires an error of one kind, in the form an operator can use.
func (e *env) wants(err, kind error) {
	e.Helper()
	if !errors.Is(err, kind) {
		e.Fatalf("error %v, want %v", err, kind)
	}
	var be *broker.Error
	if !errors.As(err, &be) || be.Op == "" {
		e.Fatalf("error %#v is no *broker.Error", err)
	}
}

func (e *env) equal(got, want []string) {
	e.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		e.Fatalf("got %.300q, want %.300q", got, want)
	}
}

// startCutting breaks the connections at random until stop is called.
func (e *env) startCutting() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-time.After(time.Duration(2+rand.IntN(80)) * time.Millisecond):
				e.h.Cut(e)
			case <-done:
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(done); <-ended })
}

// numbered is n bodies in order.
func numbered(prefix string, n int) []string {
	b := make([]string, n)
	for i := range b {
		b[i] = fmt.Sprintf("%s%06d", prefix, i)
	}
	return b
}

// A tally counts calls of done and keeps their errors.
type tally struct {
	mu    sync.Mutex
	calls int
	errs  []error
}

func (t *tally) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls++
	if err != nil {
		t.errs = append(t.errs, err)
	}
}

func (t *tally) read() (int, []error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls, t.errs
}
