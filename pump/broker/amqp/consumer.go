package amqp

import (
	"context"
	"errors"
	"math"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
)

const defaultPrefetch = 25 // broker.ConsumeOptions

// A consumer outlives its subscriptions.
type consumer struct {
	c     *conn
	queue string
	o     broker.ConsumeOptions

	life context.Context
	end  context.CancelFunc
	kept chan struct{} // closed when keep has returned
	turn chan struct{} // holds a token while somebody takes a delivery

	mu      sync.Mutex
	now     *subscription // nil while there is none
	changed chan struct{}
	err     error // why there will be none again
}

// Consume implements broker.Conn.
func (c *conn) Consume(ctx context.Context, queue string, o broker.ConsumeOptions) (broker.Consumer, error) {
	if o.Prefetch <= 0 {
		o.Prefetch = defaultPrefetch
	}
	o.Prefetch = min(o.Prefetch, math.MaxUint16)
	if len(queue) > maxShort || len(o.Name) > maxShort {
		return nil, &broker.Error{Op: "consume", Object: queue, Kind: broker.ErrNotFound, Reason: "no name is so long"}
	}
	k := &consumer{c: c, queue: queue, o: o, changed: make(chan struct{}),
		kept: make(chan struct{}), turn: make(chan struct{}, 1)}
	k.life, k.end = context.WithCancel(c.life)
	s, err := k.subscribe(ctx)
	if err != nil {
		k.end()
		return nil, err
	}
	if err := c.adopt(k); err != nil {
		k.end()
		s.finish(closeLimit)
		return nil, err
	}
	k.set(s, nil)
	go k.keep(s)
	return k, nil
}

// subscribe starts the next subscription.
func (k *consumer) subscribe(ctx context.Context) (s *subscription, err error) {
	err = k.c.do(ctx, "consume", k.queue, func(l *link) (err error) {
		s, err = subscribe(ctx, l, k.queue, k.o)
		return err
	})
	if err == nil {
		s.start()
	}
	return s, err
}

// keep replaces the subscription when it ends, until the consumer is closed or
// the broker refuses for good.
func (k *consumer) keep(s *subscription) {
	defer close(k.kept)
	for epoch := uint32(1); ; epoch++ {
		select {
		case <-s.closed:
		case <-s.cancelled:
			s.link.shut(s.ch, closeLimit)
		case <-k.life.Done():
			return
		}
		s.finish(closeLimit)
		k.set(nil, nil)
		var err error
		if s, err = k.again(); err != nil {
			k.set(nil, err)
			return
		}
		s.epoch = epoch
		k.set(s, nil)
	}
}

// again subscribes once more. A queue that vanished is declared again if it
// was declared through this conn. An exclusive queue may still belong to the
// connection that broke.
func (k *consumer) again() (*subscription, error) {
	for wait := k.c.o.MinBackoff; ; wait = min(2*wait, k.c.o.MaxBackoff) {
		s, err := k.subscribe(k.life)
		switch {
		case err == nil:
			return s, nil
		case k.life.Err() != nil:
			return nil, broker.ErrClosed
		case errors.Is(err, broker.ErrLocked):
		case errors.Is(err, broker.ErrNotFound) && k.c.ledger.hasQueue(k.queue):
			if l, err := k.c.await(k.life); err == nil && k.c.restore(k.life, l, k.queue) == nil {
				continue
			}
		default:
			return nil, err
		}
		if pause(k.life, jitter(wait)) != nil {
			return nil, broker.ErrClosed
		}
	}
}

func (k *consumer) set(s *subscription, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now, k.err = s, err
	close(k.changed)
	k.changed = make(chan struct{})
}

// Next implements broker.Consumer.
func (k *consumer) Next(ctx context.Context) (*broker.Delivery, error) {
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-k.life.Done():
		return nil, k.ended()
	}
	defer func() { <-k.turn }()
	for {
		k.mu.Lock()
		s, err, changed := k.now, k.err, k.changed
		k.mu.Unlock()
		if err != nil || k.life.Err() != nil {
			return nil, k.ended()
		}
		var deliveries <-chan amqp.Delivery
		if s != nil {
			deliveries = s.deliveries
		}
		select {
		case d, ok := <-deliveries:
			if ok {
				s.book.deliver(d.DeliveryTag)
				return delivery(&d, s.epoch), nil
			}
			k.forget(s)
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-k.life.Done():
		}
	}
}

// forget drops a subscription whose deliveries have ended; keep brings another.
func (k *consumer) forget(s *subscription) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now == s {
		k.now = nil
	}
}

func (k *consumer) ended() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil && k.life.Err() == nil {
		return k.err
	}
	return broker.ErrClosed
}

// delivery translates the library's delivery.
func delivery(d *amqp.Delivery, epoch uint32) *broker.Delivery {
	return &broker.Delivery{
		Publishing: broker.Publishing{
			Exchange: d.Exchange, Key: d.RoutingKey, Headers: d.Headers, Body: d.Body,
			ContentType: d.ContentType, ContentEncoding: d.ContentEncoding,
			Transient: d.DeliveryMode == amqp.Transient, Priority: d.Priority, Expiration: d.Expiration,
			CorrelationID: d.CorrelationId, ReplyTo: d.ReplyTo, MessageID: d.MessageId, Type: d.Type,
			UserID: d.UserId, AppID: d.AppId, Timestamp: d.Timestamp,
		},
		Tag:         broker.Tag{Epoch: epoch, N: d.DeliveryTag},
		Redelivered: d.Redelivered,
	}
}

// Ack implements broker.Consumer.
func (k *consumer) Ack(tags ...broker.Tag) error { return k.decide(acked, tags) }

// Reject implements broker.Consumer.
func (k *consumer) Reject(requeue bool, tags ...broker.Tag) error {
	if requeue {
		return k.decide(requeued, tags)
	}
	return k.decide(dropped, tags)
}

func (k *consumer) decide(v verdict, tags []broker.Tag) error {
	if k.life.Err() != nil {
		return broker.ErrClosed
	}
	k.mu.Lock()
	s := k.now
	k.mu.Unlock()
	if s == nil {
		return nil
	}
	for _, t := range tags {
		if t.Epoch == s.epoch {
			s.decide(t.N, v)
		}
	}
	return nil
}

// Close implements broker.Consumer.
func (k *consumer) Close() error {
	if s := k.quit(); s != nil {
		s.link.shut(s.ch, closeLimit)
	}
	k.c.release(k)
	return nil
}

func (k *consumer) shut() { k.quit() }

// quit ends the consumer and sends its verdicts; it returns the subscription
// whose channel is still open.
func (k *consumer) quit() *subscription {
	k.end()
	<-k.kept
	k.mu.Lock()
	s := k.now
	k.now = nil
	k.mu.Unlock()
	if s != nil {
		s.finish(closeLimit)
	}
	return s
}
