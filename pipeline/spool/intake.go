package spool

import (
	"context"
	"errors"
	"io"
	"time"

	"srpump/pump/broker"
)

// An intake is the queue messages are taken from, in batches of what is there.
type intake struct {
	s        *Spooler
	conn     broker.Conn
	consumer broker.Consumer
	next     chan *broker.Delivery
	ended    chan error // why next brings nothing any more
	stop     context.CancelFunc
}

// idle is how long a queue must bring nothing before once asks whether it is empty.
const idle = 200 * time.Millisecond

// openIntake declares what is to be declared, and begins to consume.
func (s *Spooler) openIntake(ctx context.Context) (*intake, error) {
	conn, err := s.host.Open(ctx, "broker", false)
	if err != nil {
		return nil, err
	}
	in := &intake{s: s, conn: conn, next: make(chan *broker.Delivery, s.set.prefetch), ended: make(chan error, 1)}
	if err := errors.Join(s.declare(ctx, conn), s.bind(ctx, conn)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	in.consumer, err = conn.Consume(ctx, s.set.queue.Name, broker.ConsumeOptions{Prefetch: s.set.prefetch})
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	life, stop := context.WithCancel(ctx)
	in.stop = stop
	go in.read(life)
	return in, nil
}

// read hands deliveries on, so that a batch takes what is there without waiting.
func (in *intake) read(ctx context.Context) {
	for {
		d, err := in.consumer.Next(ctx)
		if err != nil {
			in.ended <- err
			return
		}
		select {
		case in.next <- d:
		case <-ctx.Done():
			in.ended <- ctx.Err()
			return
		}
	}
}

// batch waits for a delivery and takes all others that are there. Its error is io.EOF when, with
// the option once, nothing is left.
func (in *intake) batch(ctx context.Context) ([]*broker.Delivery, error) {
	first, err := in.first(ctx)
	if err != nil {
		return nil, err
	}
	batch := []*broker.Delivery{first}
	for len(batch) < in.s.set.prefetch {
		select {
		case d := <-in.next:
			batch = append(batch, d)
			continue
		default:
		}
		break
	}
	in.s.counters.received.Add(int64(len(batch)))
	return batch, nil
}

func (in *intake) first(ctx context.Context) (*broker.Delivery, error) {
	for {
		var quiet <-chan time.Time
		if in.s.set.once {
			quiet = time.After(idle)
		}
		select {
		case d := <-in.next:
			return d, nil
		case err := <-in.ended:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-quiet:
			ready, err := in.conn.DeclareQueue(ctx, broker.Queue{Name: in.s.set.queue.Name, Passive: true})
			if err == nil && ready == 0 && len(in.next) == 0 {
				err = io.EOF
			}
			if err != nil {
				return nil, err
			}
		}
	}
}

// ack gives a batch up: all of it is in a durable place.
func (in *intake) ack(batch []*broker.Delivery) error {
	tags := make([]broker.Tag, len(batch))
	for i, d := range batch {
		tags[i] = d.Tag
	}
	return in.consumer.Ack(tags...)
}

func (in *intake) close() error {
	in.stop()
	return errors.Join(in.consumer.Close(), in.conn.Close())
}
