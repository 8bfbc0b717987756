package test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/broker/amqp"
	"srpump/pump/broker/sqlite"
	"srpump/test/rabbit"
)

// onBothBrokers runs a test with the URL of a sqlite file and of RabbitMQ.
func onBothBrokers(t *testing.T, f func(t *testing.T, url string)) {
	t.Run("sqlite", func(t *testing.T) { f(t, "sqlite://"+t.TempDir()+"/pump.db") })
	t.Run("rabbitmq", func(t *testing.T) { f(t, rabbit.Start(t).URL("guest")) })
}

// unique are names of exchanges and queues no other test uses.
var unique atomic.Int64

func fresh(kind string) string { return fmt.Sprintf("%s_test%d", kind, unique.Add(1)) }

// connect opens a broker for the test itself.
func connect(t testing.TB, url string) broker.Conn {
	t.Helper()
	open := amqp.Open
	if strings.HasPrefix(url, "sqlite:") {
		open = sqlite.Open
	}
	c, err := open(context.Background(), url, broker.Options{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A capture is a queue bound to everything of an exchange, read as it fills.
type capture struct {
	queue string

	mu   sync.Mutex
	got  []*post.Announcement
	seen map[string]int // relpath without a leading slash → how often
}

// captureFrom declares the exchange and reads all that is sent to it.
func captureFrom(t testing.TB, c broker.Conn, exchange string) *capture {
	t.Helper()
	ctx := context.Background()
	queue := fresh("q_guest_capture")
	must(t, c.DeclareExchange(ctx, broker.Exchange{Name: exchange}))
	_, err := c.DeclareQueue(ctx, broker.Queue{Name: queue})
	must(t, err)
	must(t, c.Bind(ctx, broker.Binding{Queue: queue, Exchange: exchange, Pattern: "#"}))
	consumer, err := c.Consume(ctx, queue, broker.ConsumeOptions{Prefetch: 1000})
	must(t, err)
	k := &capture{queue: queue, seen: make(map[string]int)}
	var over sync.WaitGroup
	over.Go(func() { k.read(t, ctx, consumer) })
	t.Cleanup(func() { _ = consumer.Close(); over.Wait() })
	return k
}

func (k *capture) read(t testing.TB, ctx context.Context, c broker.Consumer) {
	for {
		d, err := c.Next(ctx)
		if err != nil {
			if !errors.Is(err, broker.ErrClosed) {
				t.Errorf("capture: %v", err)
			}
			return
		}
		a, err := post.Decode(d.Key, d.Headers, d.Body)
		if err != nil {
			t.Errorf("captured %q: %v", d.Body, err)
			return
		}
		k.mu.Lock()
		k.got = append(k.got, a)
		k.seen[strings.TrimLeft(a.Path, "/")]++
		k.mu.Unlock()
		_ = c.Ack(d.Tag)
	}
}

// len is how many different paths were announced.
func (k *capture) len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.seen)
}

// all are the announcements so far.
func (k *capture) all() []*post.Announcement {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]*post.Announcement(nil), k.got...)
}

// publish sends raw messages, and returns when the broker has them.
func publish(t testing.TB, c broker.Conn, messages ...broker.Publishing) {
	t.Helper()
	ctx := context.Background()
	p, err := c.Publisher(ctx, broker.PublishOptions{})
	must(t, err)
	defer p.Close()
	for _, m := range messages {
		must(t, p.Publish(ctx, m, func(err error) {
			if err != nil {
				t.Errorf("cannot publish %q: %v", m.Key, err)
			}
		}))
	}
	must(t, p.Flush(ctx))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
