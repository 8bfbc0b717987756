package test

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
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

// rawCapture binds a queue to everything of an exchange and returns what comes.
func rawCapture(t testing.TB, url, exchange string) <-chan amqp.Delivery {
	t.Helper()
	ch := rawChannel(t, url)
	must(t, ch.ExchangeDeclare(exchange, "topic", true, false, false, false, nil))
	q, err := ch.QueueDeclare("", false, true, true, false, nil)
	must(t, err)
	must(t, ch.QueueBind(q.Name, "#", exchange, false, nil))
	got, err := ch.Consume(q.Name, "", true, true, false, false, nil)
	must(t, err)
	return got
}

// rawPublish sends one message as a living peer does.
func rawPublish(t testing.TB, url, exchange, key, body string, headers amqp.Table) {
	t.Helper()
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
