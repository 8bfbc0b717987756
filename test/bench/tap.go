package main

import (
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A tap is our own connection to the node, for what is prepared and checked.
type tap struct {
	conn *amqp.Connection
	ch   *amqp.Channel
}

func openTap(url string) (*tap, error) {
	conn, err := amqp.Dial(url)
	if err != nil {
		return nil, fmt.Errorf("cannot connect: %w", err)
	}
	ch, err := conn.Channel()
	if err == nil {
		err = ch.Confirm(false)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &tap{conn, ch}, nil
}

func (t *tap) close() { _ = t.conn.Close() }

// exchange makes a durable topic exchange.
func (t *tap) exchange(name string) error {
	return t.ch.ExchangeDeclare(name, "topic", true, false, false, false, nil)
}

// bound makes a durable queue that gets everything sent to the exchange.
func (t *tap) bound(exchange, queue string) error {
	if err := t.exchange(exchange); err != nil {
		return err
	}
	if _, err := t.ch.QueueDeclare(queue, true, false, false, false, nil); err != nil {
		return err
	}
	return t.ch.QueueBind(queue, "#", exchange, false, nil)
}

func (t *tap) purge(queues ...string) error {
	for _, q := range queues {
		if _, err := t.ch.QueuePurge(q, false); err != nil {
			return err
		}
	}
	return nil
}

// send publishes to the exchange and returns when the broker has taken all.
func (t *tap) send(exchange string, all []amqp.Publishing, keys []string) error {
	var last *amqp.DeferredConfirmation
	for i, p := range all {
		var err error
		if last, err = t.ch.PublishWithDeferredConfirm(exchange, keys[i], false, false, p); err != nil {
			return err
		}
		if i%1000 == 999 && !last.Wait() {
			return errors.New("the broker did not take a publishing")
		}
	}
	if last != nil && !last.Wait() {
		return errors.New("the broker did not take a publishing")
	}
	return nil
}
