package pump

import (
	"context"
	"sync"

	"srpump/pump/broker"
)

// A spread is several consumers as one: each in turn gives what it has, and is told of its own
// deliveries.
type spread struct {
	parts  []broker.Consumer
	out    chan arrival
	taking context.Context
	halt   context.CancelFunc // takes nothing more; what was given is still acknowledged
	over   sync.WaitGroup
}

type arrival struct {
	d   *broker.Delivery
	err error
}

// partShift leaves a consumer 2^48 deliveries of one connection, and a spread 65,536 consumers.
const partShift = 48

func newSpread(parts []broker.Consumer) *spread {
	s := &spread{parts: parts, out: make(chan arrival)}
	s.taking, s.halt = context.WithCancel(context.Background())
	for i, k := range parts {
		s.over.Go(func() { s.take(uint64(i), k) })
	}
	return s
}

// take offers what one consumer has. The channel serves those who wait in the order they came, so that a full
// queue cannot keep another from its turn.
func (s *spread) take(part uint64, k broker.Consumer) {
	for {
		d, err := k.Next(s.taking)
		if err == nil {
			d.Tag.N |= part << partShift
		}
		select {
		case s.out <- arrival{d, err}:
		case <-s.taking.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// Next implements broker.Consumer. The end of one is the end of all.
func (s *spread) Next(ctx context.Context) (*broker.Delivery, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.taking.Err() != nil {
		return nil, broker.ErrClosed
	}
	select {
	case a := <-s.out:
		return a.d, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.taking.Done():
		return nil, broker.ErrClosed
	}
}

// Ack implements broker.Consumer.
func (s *spread) Ack(tags ...broker.Tag) error {
	return s.each(tags, broker.Consumer.Ack)
}

// Reject implements broker.Consumer.
func (s *spread) Reject(requeue bool, tags ...broker.Tag) error {
	return s.each(tags, func(k broker.Consumer, own ...broker.Tag) error { return k.Reject(requeue, own...) })
}

// each tells every consumer of its own.
func (s *spread) each(tags []broker.Tag, tell func(broker.Consumer, ...broker.Tag) error) (err error) {
	own := make([][]broker.Tag, len(s.parts))
	for _, t := range tags {
		part := t.N >> partShift
		own[part] = append(own[part], broker.Tag{Epoch: t.Epoch, N: t.N & (1<<partShift - 1)})
	}
	for i, k := range s.parts {
		if len(own[i]) == 0 {
			continue
		}
		if e := tell(k, own[i]...); err == nil {
			err = e
		}
	}
	return err
}

// Close implements broker.Consumer.
func (s *spread) Close() error {
	s.halt()
	s.over.Wait()
	return closeAll(s.parts)
}
