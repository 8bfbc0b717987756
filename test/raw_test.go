package test

import (
	"context"
	"strings"
	"sync"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
)

// rawChannel is a channel of the library itself, with nothing of ours between.
func rawChannel(t testing.TB, url string) *amqp.Channel {
	t.Helper()
	c, err := amqp.Dial(url)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	ch, err := c.Channel()
	must(t, err)
	return ch
}

// rawCapture binds a queue to everything of an exchange and returns what comes, as the library of
// AMQP gives it.
func rawCapture(t testing.TB, url, exchange string) <-chan amqp.Delivery {
	t.Helper()
	if strings.HasPrefix(url, "sqlite:") {
		return fileCapture(t, url, exchange)
	}
	ch := rawChannel(t, url)
	must(t, ch.ExchangeDeclare(exchange, "topic", true, false, false, false, nil))
	q, err := ch.QueueDeclare("", false, true, true, false, nil)
	must(t, err)
	must(t, ch.QueueBind(q.Name, "#", exchange, false, nil))
	got, err := ch.Consume(q.Name, "", true, true, false, false, nil)
	must(t, err)
	return got
}

// fileCapture is rawCapture of the local file.
func fileCapture(t testing.TB, url, exchange string) <-chan amqp.Delivery {
	c, queue := connect(t, url), fresh("q_guest_raw")
	must(t, c.DeclareExchange(t.Context(), broker.Exchange{Name: exchange}))
	_, err := c.DeclareQueue(t.Context(), broker.Queue{Name: queue})
	must(t, err)
	must(t, c.Bind(t.Context(), broker.Binding{Queue: queue, Exchange: exchange, Pattern: "#"}))
	consumer, err := c.Consume(t.Context(), queue, broker.ConsumeOptions{Prefetch: 1000})
	must(t, err)
	got, over := make(chan amqp.Delivery, 10_000), sync.WaitGroup{}
	over.Go(func() {
		for d, err := consumer.Next(context.Background()); err == nil; d, err = consumer.Next(context.Background()) {
			got <- asLibrary(d)
			_ = consumer.Ack(d.Tag)
		}
	})
	t.Cleanup(func() { _ = consumer.Close(); over.Wait() })
	return got
}

// asLibrary is a delivery as the library of AMQP would give it.
func asLibrary(d *broker.Delivery) amqp.Delivery {
	mode := amqp.Persistent
	if d.Transient {
		mode = amqp.Transient
	}
	return amqp.Delivery{RoutingKey: d.Key, Body: d.Body, Headers: d.Headers, ContentType: d.ContentType, ContentEncoding: d.ContentEncoding,
		DeliveryMode: mode, Expiration: d.Expiration}
}

// rawPublish sends one message as a living peer does.
func rawPublish(t testing.TB, url, exchange, key, body string, headers amqp.Table) {
	t.Helper()
	if strings.HasPrefix(url, "sqlite:") {
		c := connect(t, url)
		must(t, c.DeclareExchange(t.Context(), broker.Exchange{Name: exchange}))
		publish(t, c, broker.Publishing{Exchange: exchange, Key: key, ContentType: "text/plain", ContentEncoding: "utf-8", Headers: headers, Body: []byte(body)})
		return
	}
	ch := rawChannel(t, url)
	must(t, ch.ExchangeDeclare(exchange, "topic", true, false, false, false, nil))
	must(t, ch.Confirm(false))
	c, err := ch.PublishWithDeferredConfirmWithContext(t.Context(), exchange, key, false, false, amqp.Publishing{
		ContentType: "text/plain", ContentEncoding: "utf-8", DeliveryMode: 2, Headers: headers, Body: []byte(body)})
	must(t, err)
	if !c.Wait() {
		t.Fatal("the broker did not take it")
	}
}
