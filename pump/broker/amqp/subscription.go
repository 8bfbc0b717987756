package amqp

import (
	"context"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
)

// ackDelay is how long an acknowledgement waits for others to go with it.
const ackDelay = time.Millisecond

// A subscription is a consumer's life on one channel.
type subscription struct {
	epoch      uint32
	name       string // consumer tag
	link       *link
	ch         *amqp.Channel
	deliveries <-chan amqp.Delivery
	closed     chan *amqp.Error // the channel or its link has ended
	cancelled  chan string      // the broker ended it: the queue was deleted

	book     book
	enough   int           // verdicts that do not wait for more
	some     chan struct{} // holds a token while there are verdicts
	many     chan struct{} // holds a token while there are enough of them
	stop     context.CancelFunc
	settling chan struct{} // closed when all verdicts are sent
}

// subscribe opens a channel on l and consumes queue. Abandoned by ctx, it
// closes again what it opened.
func subscribe(ctx context.Context, l *link, queue string, o broker.ConsumeOptions) (*subscription, error) {
	type result struct {
		s   *subscription
		err error
	}
	got := make(chan result)
	go func() {
		s, err := subscribeNow(l, queue, o)
		select {
		case got <- result{s, err}:
		case <-ctx.Done():
			if s != nil {
				_ = s.ch.Close()
			}
		}
	}()
	select {
	case r := <-got:
		return r.s, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func subscribeNow(l *link, queue string, o broker.ConsumeOptions) (*subscription, error) {
	ch, err := l.amqp.Channel()
	if err != nil {
		return nil, err
	}
	s := &subscription{name: first(o.Name, "srpump"), link: l, ch: ch, enough: max(1, o.Prefetch/2),
		some: make(chan struct{}, 1), many: make(chan struct{}, 1), settling: make(chan struct{})}
	s.closed = ch.NotifyClose(make(chan *amqp.Error, 1))
	s.cancelled = ch.NotifyCancel(make(chan string, 1))
	if err := ch.Qos(o.Prefetch, 0, false); err != nil {
		return nil, err
	}
	if s.deliveries, err = ch.Consume(queue, s.name, false, false, false, false, nil); err != nil {
		return nil, err
	}
	return s, nil
}

// start begins to send verdicts.
func (s *subscription) start() {
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	go s.settleAll(ctx)
}

// decide notes a verdict and has it sent soon.
func (s *subscription) decide(tag uint64, v verdict) {
	n := s.book.decide(tag, v)
	if n > 0 {
		signal(s.some)
	}
	if n >= s.enough {
		signal(s.many)
	}
}

// signal leaves a token, unless there is one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// settleAll sends verdicts in batches until ctx ends, and then what is left.
func (s *subscription) settleAll(ctx context.Context) {
	defer close(s.settling)
	t := time.NewTimer(ackDelay)
	defer t.Stop()
	for {
		select {
		case <-s.some:
		case <-ctx.Done():
			s.settle()
			return
		}
		t.Reset(ackDelay)
		select {
		case <-s.many:
		case <-t.C:
		case <-ctx.Done():
		}
		s.settle()
	}
}

// settle sends the verdicts of this moment. A channel that fails has ended,
// and with it everything these verdicts were about.
func (s *subscription) settle() {
	methods := s.book.settle()
	if len(methods) == 0 {
		return
	}
	s.link.wire.cork()
	defer s.link.wire.uncork()
	for _, m := range methods {
		var err error
		if m.verdict == acked {
			err = s.ch.Ack(m.tag, m.multiple)
		} else {
			err = s.ch.Nack(m.tag, false, m.verdict == requeued)
		}
		if err != nil {
			return
		}
	}
}

// finish cancels the consumer and then sends all verdicts, within limit: in
// this order, as every acknowledgement would bring another delivery, which
// would go back marked as redelivered though nobody saw it.
func (s *subscription) finish(limit time.Duration) {
	t := time.AfterFunc(limit, func() { _ = s.link.wire.Close() })
	defer t.Stop()
	_ = s.ch.Cancel(s.name, true) // fails on a channel that ended
	s.stop()
	<-s.settling
}
