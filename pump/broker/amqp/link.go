package amqp

import (
	"context"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A link is one TCP connection to the broker, from handshake to its end.
type link struct {
	amqp    *amqp.Connection
	wire    *wire
	closed  chan *amqp.Error   // the broker's word, or the network's, at its end
	blocks  chan amqp.Blocking // the broker stops or resumes reading
	down    chan struct{}      // closed once everybody may look for another link
	turn    chan struct{}      // holds one token: the right to use declare
	declare *amqp.Channel      // for topology; nil when not open
	born    time.Time
}

func newLink(a *amqp.Connection, w *wire) *link {
	l := &link{amqp: a, wire: w, born: time.Now(), down: make(chan struct{}), turn: make(chan struct{}, 1)}
	l.closed = a.NotifyClose(make(chan *amqp.Error, 1))
	l.blocks = a.NotifyBlocked(make(chan amqp.Blocking, 1))
	return l
}

// call runs f on the topology channel, and opens the channel when there is
// none. When ctx ends first, f goes on but nobody waits for it.
func (l *link) call(ctx context.Context, f func(*amqp.Channel) error) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	result := make(chan error, 1)
	go func() {
		defer func() { <-l.turn }()
		result <- l.callNow(f)
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *link) callNow(f func(*amqp.Channel) error) error {
	if l.declare == nil || l.declare.IsClosed() {
		ch, err := l.amqp.Channel()
		if err != nil {
			return err
		}
		l.declare = ch
	}
	return f(l.declare)
}

// broken tells whether the link itself has ended, not just a channel of it.
func (l *link) broken() bool { return l.amqp.IsClosed() }

// close says goodbye to the broker and ends the link, after limit at the latest.
func (l *link) close(limit time.Duration) {
	t := time.AfterFunc(limit, func() { _ = l.wire.Close() })
	defer t.Stop()
	_ = l.amqp.Close() // it ends either way, and nothing is lost by it
	_ = l.wire.Close()
}

// shut closes a channel, and breaks the link when that takes longer than
// limit: a broker that does not answer for so long is gone or hangs.
func (l *link) shut(ch *amqp.Channel, limit time.Duration) {
	t := time.AfterFunc(limit, func() { _ = l.wire.Close() })
	defer t.Stop()
	_ = ch.Close()
}
