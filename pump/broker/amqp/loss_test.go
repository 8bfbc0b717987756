package amqp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
	"srpump/test/cutproxy"
	"srpump/test/rabbit"
)

// A journal keeps log lines, and wakes who waits for one.
type journal struct {
	mu    sync.Mutex
	text  bytes.Buffer
	wrote chan struct{}
}

func newJournal() *journal { return &journal{wrote: make(chan struct{}, 1)} }

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	signal(j.wrote)
	return j.text.Write(p)
}

func (j *journal) read() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) await(t *testing.T, ctx context.Context, phrase string) {
	t.Helper()
	for {
		text := j.read()
		if strings.Contains(text, phrase) {
			return
		}
		select {
		case <-j.wrote:
		case <-ctx.Done():
			t.Fatalf("%q was never logged:\n%s", phrase, text)
		}
	}
}

func (j *journal) options() broker.Options {
	o := quick
	o.Logger = slog.New(slog.NewTextHandler(j, nil))
	return o
}

// route declares an exchange and a durable queue that takes all of it.
func route(t *testing.T, ctx context.Context, c broker.Conn, name string) (exchange, queue string) {
	t.Helper()
	exchange, queue = "xs_"+name, "q_"+name
	must(t, c.DeclareExchange(ctx, broker.Exchange{Name: exchange}))
	_, err := c.DeclareQueue(ctx, broker.Queue{Name: queue})
	must(t, err)
	must(t, c.Bind(ctx, broker.Binding{Queue: queue, Exchange: exchange, Pattern: "#"}))
	return exchange, queue
}

// After kill -9 of the node in mid-stream every publishing is there, those
// confirmed before it as well as those sent again after it. A memory alarm
// stops publishers, is reported, and does not keep Close waiting.
func TestNodeKilled(t *testing.T) {
	node, ctx, log := rabbit.Own(t), within(t), newJournal()
	c := connect(t, node.AdminURL(), log.options())
	exchange, queue := route(t, ctx, c, "killed")
	p, err := c.Publisher(ctx, broker.PublishOptions{Window: 200})
	must(t, err)
	const n = 3000
	half := make(chan struct{})
	confirmed := 0
	go func() {
		<-half
		node.Kill()
		if err := node.Restart(); err != nil {
			t.Error(err)
		}
	}()
	for i := range n {
		must(t, p.Publish(ctx, broker.Publishing{Exchange: exchange, Key: "k", Body: fmt.Append(nil, i)}, func(err error) {
			if err != nil {
				t.Error(err)
			}
			if confirmed++; confirmed == n/2 {
				close(half)
			}
		}))
	}
	must(t, p.Flush(ctx))
	arrived(t, ctx, c, queue, n)
	log.await(t, ctx, "broker is back")

	if _, err := node.Ctl("set_vm_memory_high_watermark", "0"); err != nil {
		t.Fatal(err)
	}
	must(t, p.Publish(ctx, broker.Publishing{Exchange: exchange, Key: "k"}, nil))
	log.await(t, ctx, "broker blocks publishers")
	must(t, c.Close())
}

// Connections that break again and again, in the middle of frames, cost
// duplicates but nothing else, neither on the way in nor on the way out.
func TestCutsLoseNothing(t *testing.T) {
	node, ctx, log := rabbit.Start(t), within(t), newJournal()
	proxy := cutproxy.New(t, node.Addr())
	c := connect(t, node.URLAt(proxy.Addr(), "admin"), log.options())
	exchange, queue := route(t, ctx, c, "cuts")
	p, err := c.Publisher(ctx, broker.PublishOptions{Window: 300})
	must(t, err)
	const n = 4000
	confirmed := 0
	for i := range n {
		must(t, p.Publish(ctx, broker.Publishing{Exchange: exchange, Key: "k", Body: fmt.Append(nil, i)}, func(err error) {
			if err != nil {
				t.Error(err)
			}
			if confirmed++; confirmed%100 == 0 {
				proxy.CutAfter(rand.Int64N(30_000))
			}
		}))
	}
	must(t, p.Flush(ctx))
	k, err := c.Consume(ctx, queue, broker.ConsumeOptions{Prefetch: 100})
	must(t, err)
	seen := map[string]bool{}
	for i := 0; len(seen) < n; i++ {
		if i%200 == 0 && i < 5*n {
			proxy.CutAfter(rand.Int64N(30_000))
		}
		d, err := k.Next(ctx)
		must(t, err)
		seen[string(d.Body)] = true
		must(t, k.Ack(d.Tag))
	}
	must(t, k.Close())
	t.Logf("%d breaks", strings.Count(log.read(), "broker is back"))
	must(t, c.DeleteQueue(ctx, queue))
}

// arrived consumes until n different bodies have come.
func arrived(t *testing.T, ctx context.Context, c broker.Conn, queue string, n int) {
	t.Helper()
	k, err := c.Consume(ctx, queue, broker.ConsumeOptions{Prefetch: 100})
	must(t, err)
	seen := map[string]bool{}
	for len(seen) < n {
		d, err := k.Next(ctx)
		if err != nil {
			t.Fatalf("%d of %d arrived: %v", len(seen), n, err)
		}
		seen[string(d.Body)] = true
		must(t, k.Ack(d.Tag))
	}
	must(t, k.Close())
}

// A broker that is silent without closing anything is given up after two
// heartbeats, and nothing is lost by it.
func TestSilentBroker(t *testing.T) {
	node, ctx, log := rabbit.Start(t), within(t), newJournal()
	proxy := cutproxy.New(t, node.Addr())
	o := log.options()
	o.Heartbeat = time.Second
	c := connect(t, node.URLAt(proxy.Addr(), "admin"), o)
	exchange, queue := route(t, ctx, c, "silent")
	p, err := c.Publisher(ctx, broker.PublishOptions{})
	must(t, err)
	proxy.Stall()
	must(t, p.Publish(ctx, broker.Publishing{Exchange: exchange, Key: "k", Body: []byte("x")}, nil))
	log.await(t, ctx, "lost broker")
	proxy.Resume()
	must(t, p.Flush(ctx))
	arrived(t, ctx, c, queue, 1)
	must(t, c.DeleteQueue(ctx, queue))
	if strings.Contains(log.read(), "admin:admin") {
		t.Error("the password was logged")
	}
}

// Close does not wait for a broker that says nothing.
func TestCloseUnderSilence(t *testing.T) {
	node, ctx := rabbit.Start(t), within(t)
	proxy := cutproxy.New(t, node.Addr())
	c := connect(t, node.URLAt(proxy.Addr(), "admin"), quick)
	exchange, queue := route(t, ctx, c, "hung")
	p, err := c.Publisher(ctx, broker.PublishOptions{})
	must(t, err)
	k, err := c.Consume(ctx, queue, broker.ConsumeOptions{})
	must(t, err)
	proxy.Stall()
	told := make(chan error, 1)
	must(t, p.Publish(ctx, broker.Publishing{Exchange: exchange, Key: "k"}, func(err error) { told <- err }))
	must(t, c.Close())
	refusedWith(t, <-told, broker.ErrClosed)
	_, err = k.Next(ctx)
	refusedWith(t, err, broker.ErrClosed)
}

// With Once the first break is final, for everybody.
func TestOnce(t *testing.T) {
	node, ctx := rabbit.Start(t), within(t)
	proxy := cutproxy.New(t, node.Addr())
	o := quick
	o.Once = true
	c := connect(t, node.URLAt(proxy.Addr(), "admin"), o)
	_, queue := route(t, ctx, c, "once")
	k, err := c.Consume(ctx, queue, broker.ConsumeOptions{})
	must(t, err)
	p, err := c.Publisher(ctx, broker.PublishOptions{})
	must(t, err)
	proxy.Cut()
	_, err = k.Next(ctx)
	refusedWith(t, err, broker.ErrUnreachable)
	_, err = c.DeclareQueue(ctx, broker.Queue{Name: queue})
	refusedWith(t, err, broker.ErrUnreachable)
	for err = nil; err == nil; { // until the publisher has learned of it too
		err = p.Publish(ctx, broker.Publishing{}, nil)
	}
	refusedWith(t, err, broker.ErrUnreachable)
}

// What was declared is declared again after a break: an exclusive queue goes
// with its connection, and its consumer finds it, and its bindings, anew.
func TestDeclaredAgain(t *testing.T) {
	node, ctx := rabbit.Start(t), within(t)
	proxy := cutproxy.New(t, node.Addr())
	c := connect(t, node.URLAt(proxy.Addr(), "admin"), quick)
	exchange := "xs_again"
	must(t, c.DeclareExchange(ctx, broker.Exchange{Name: exchange, Transient: true}))
	_, err := c.DeclareQueue(ctx, broker.Queue{Name: "q_again", Exclusive: true, Transient: true})
	must(t, err)
	must(t, c.Bind(ctx, broker.Binding{Queue: "q_again", Exchange: exchange, Pattern: "#"}))
	k, err := c.Consume(ctx, "q_again", broker.ConsumeOptions{})
	must(t, err)
	proxy.Cut()
	p, err := c.Publisher(ctx, broker.PublishOptions{})
	must(t, err)
	d, err := nextOf(ctx, k, func() { must(t, p.Publish(ctx, broker.Publishing{Exchange: exchange, Key: "k"}, nil)) })
	must(t, err)
	must(t, k.Ack(d.Tag))
	must(t, c.DeleteExchange(ctx, exchange, false))
}

// nextOf publishes until something is delivered: what the broker takes before it has noticed the
// end of a connection goes with the exclusive queue of that.
func nextOf(ctx context.Context, k broker.Consumer, publish func()) (d *broker.Delivery, err error) {
	for try := true; try; {
		publish()
		short, cancel := context.WithTimeout(ctx, time.Second)
		d, err = k.Next(short)
		cancel()
		try = errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
	}
	return d, err
}

// A queue deleted under its consumer is declared again by whoever declared it.
func TestQueueDeleted(t *testing.T) {
	node, ctx := rabbit.Start(t), within(t)
	c := connect(t, node.URL("admin"), quick)
	exchange, queue := route(t, ctx, c, "deleted")
	k, err := c.Consume(ctx, queue, broker.ConsumeOptions{})
	must(t, err)
	must(t, connect(t, node.URL("admin"), quick).DeleteQueue(ctx, queue))
	p, err := c.Publisher(ctx, broker.PublishOptions{})
	must(t, err)
	outcome := make(chan error, 1)
	for err := error(broker.ErrUnroutable); errors.Is(err, broker.ErrUnroutable); err = <-outcome {
		must(t, p.Publish(ctx, broker.Publishing{Exchange: exchange, Key: "k", Mandatory: true}, func(err error) { outcome <- err }))
	}
	d, err := k.Next(ctx)
	must(t, err)
	must(t, k.Ack(d.Tag))
	must(t, c.DeleteQueue(ctx, queue))
	must(t, c.DeleteExchange(ctx, exchange, false))
}

// A write that fails before the reader has noticed the end of the connection
// is a lost connection and not a refusal: the request goes out again on the
// next one.
func TestWriteFailsFirst(t *testing.T) {
	ctx, log := within(t), newJournal()
	c := connect(t, rabbit.Start(t).AdminURL(), log.options())
	tries := 0
	err := c.(*conn).do(ctx, "declare queue", "q_x", func(l *link) error {
		tries++
		if tries == 1 {
			return &net.OpError{Op: "write", Err: syscall.ECONNRESET}
		}
		return l.call(ctx, func(*amqp.Channel) error { return nil })
	})
	if err != nil || tries != 2 {
		t.Fatalf("%d tries, %v; want a second one that succeeds", tries, err)
	}
	log.await(t, ctx, "broker is back")
}
