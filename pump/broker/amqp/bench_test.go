package amqp

import (
	"context"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
	"srpump/test/rabbit"
)

const benchWindow = 1000

// benchQueue makes an exchange with one durable queue that takes everything.
func benchQueue(b *testing.B) (url, exchange, queue string) {
	url = rabbit.Start(b).AdminURL()
	exchange, queue = "xs_bench", "q_bench"
	c := dial(b, url, broker.Options{})
	defer c.Close()
	ctx := context.Background()
	_, err := c.DeclareQueue(ctx, broker.Queue{Name: queue})
	for _, err := range []error{err, c.DeclareExchange(ctx, broker.Exchange{Name: exchange}),
		c.Bind(ctx, broker.Binding{Queue: queue, Exchange: exchange, Pattern: "#"})} {
		if err != nil {
			b.Fatal(err)
		}
	}
	if _, err := c.Purge(ctx, queue); err != nil {
		b.Fatal(err)
	}
	return url, exchange, queue
}

// announcement is what sr_post sends for one file.
var announcement = broker.Publishing{
	Key:         "v02.post.a.b.c.d.foo.txt",
	Body:        []byte("20261121000009.12 http://example.org:8000/ /a/b/c/d/foo.txt \n"),
	ContentType: "text/plain", ContentEncoding: "utf-8",
	Headers: map[string]any{"sum": "d,6f5902ac237024bdd0c176cb93063dc4", "parts": "1,1024,1,0,0", "mode": "644",
		"mtime": "20200102030405.0", "atime": "20200102030405.0", "to_clusters": "DD"},
}

func BenchmarkPublish(b *testing.B) {
	url, exchange, _ := benchQueue(b)
	c := dial(b, url, broker.Options{})
	defer c.Close()
	ctx := context.Background()
	p, err := c.Publisher(ctx, broker.PublishOptions{Window: benchWindow})
	if err != nil {
		b.Fatal(err)
	}
	m := announcement
	m.Exchange = exchange
	done := func(err error) {
		if err != nil {
			b.Error(err)
		}
	}
	for b.Loop() {
		if err := p.Publish(ctx, m, done); err != nil {
			b.Fatal(err)
		}
	}
	if err := p.Flush(ctx); err != nil {
		b.Fatal(err)
	}
	report(b)
}

// BenchmarkBarePublish is the library by itself, with as many unconfirmed.
func BenchmarkBarePublish(b *testing.B) {
	url, exchange, _ := benchQueue(b)
	conn, ch := bare(b, url)
	defer conn.Close()
	if err := ch.Confirm(false); err != nil {
		b.Fatal(err)
	}
	confirms := ch.NotifyPublish(make(chan amqp.Confirmation, benchWindow))
	m := announcement
	m.Exchange = exchange
	unconfirmed := 0
	for b.Loop() {
		if unconfirmed == benchWindow {
			<-confirms
			unconfirmed--
		}
		if err := ch.Publish(exchange, m.Key, false, false, publishing(&m)); err != nil {
			b.Fatal(err)
		}
		unconfirmed++
	}
	for ; unconfirmed > 0; unconfirmed-- {
		<-confirms
	}
	report(b)
}

func BenchmarkConsume(b *testing.B) {
	url, exchange, queue := benchQueue(b)
	c := dial(b, url, broker.Options{})
	defer c.Close()
	fill(b, c, exchange)
	ctx := context.Background()
	k, err := c.Consume(ctx, queue, broker.ConsumeOptions{Prefetch: benchWindow})
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		d, err := k.Next(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := k.Ack(d.Tag); err != nil {
			b.Fatal(err)
		}
	}
	report(b)
}

// BenchmarkBareConsume is the library by itself, acknowledging 200 at a time.
func BenchmarkBareConsume(b *testing.B) {
	url, exchange, queue := benchQueue(b)
	c := dial(b, url, broker.Options{})
	defer c.Close()
	fill(b, c, exchange)
	conn, ch := bare(b, url)
	defer conn.Close()
	if err := ch.Qos(benchWindow, 0, false); err != nil {
		b.Fatal(err)
	}
	deliveries, err := ch.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for i := range b.N {
		d := <-deliveries
		if i%200 == 199 || i == b.N-1 {
			if err := d.Ack(true); err != nil {
				b.Fatal(err)
			}
		}
	}
	report(b)
}

// BenchmarkCold is what sr_post of one file costs here: connect, publish,
// confirm, close.
func BenchmarkCold(b *testing.B) {
	url, exchange, _ := benchQueue(b)
	ctx := context.Background()
	m := announcement
	m.Exchange = exchange
	for b.Loop() {
		c := dial(b, url, broker.Options{})
		p, err := c.Publisher(ctx, broker.PublishOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Publish(ctx, m, nil); err != nil {
			b.Fatal(err)
		}
		if err := p.Flush(ctx); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}

func bare(b *testing.B, url string) (*amqp.Connection, *amqp.Channel) {
	conn, err := amqp.Dial(url)
	if err != nil {
		b.Fatal(err)
	}
	ch, err := conn.Channel()
	if err != nil {
		b.Fatal(err)
	}
	return conn, ch
}

// fill puts b.N announcements into the queue.
func fill(b *testing.B, c broker.Conn, exchange string) {
	ctx := context.Background()
	p, err := c.Publisher(ctx, broker.PublishOptions{})
	if err != nil {
		b.Fatal(err)
	}
	m := announcement
	m.Exchange = exchange
	for range b.N {
		if err := p.Publish(ctx, m, nil); err != nil {
			b.Fatal(err)
		}
	}
	if err := p.Flush(ctx); err != nil {
		b.Fatal(err)
	}
	if err := p.Close(); err != nil {
		b.Fatal(err)
	}
}

func report(b *testing.B) { b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s") }
