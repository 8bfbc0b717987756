// Package broker is the contract between a flow and whatever carries its
// messages: RabbitMQ (package amqp), a local file (package sqlite) or a pair
// of pipes (package pipe). It knows exchanges, queues and raw messages; what a
// message means is decided above it.
//
// The words are those of AMQP 0-9-1:
//
//	Exchange    where publishings are sent; of type topic unless another is named
//	Queue       where publishings wait for one group of consumers
//	Binding     a pattern by which a queue asks an exchange for publishings:
//	            words joined by dots, * for exactly one word, # for any number
//	Publishing  what a program sends
//	Delivery    a publishing as a consumer receives it
//	Confirm     the broker's word that it has taken a publishing for good
package broker

import (
	"context"
	"log/slog"
	"time"
)

// A Publishing is a raw message: a body, its properties and its headers, as
// AMQP 0-9-1 knows them. Header values keep the Go types amqp091-go gives
// them, so that an unknown header is forwarded with its AMQP type.
type Publishing struct {
	Exchange string         // exchange it is sent to, or came through
	Key      string         // routing key (topic), at most 255 bytes
	Headers  map[string]any // application headers
	Body     []byte

	ContentType     string
	ContentEncoding string
	Transient       bool   // delivery mode 1 where set; 2 (persistent) by default
	Priority        uint8  // 0 to 9
	Expiration      string // milliseconds in decimal, or empty
	CorrelationID   string
	ReplyTo         string
	MessageID       string
	Type            string
	UserID          string
	AppID           string
	Timestamp       time.Time // zero when absent; whole seconds on the wire

	// Mandatory asks for ErrUnroutable when no queue takes the publishing.
	Mandatory bool
}

// A Tag names one delivery of one consumer. Epoch counts the connections the
// consumer has had: a tag of an earlier epoch is stale, its delivery has gone
// back to the queue, and acknowledging it does nothing.
type Tag struct {
	Epoch uint32
	N     uint64
}

// A Delivery is a publishing handed to a consumer, to be acknowledged by Tag.
type Delivery struct {
	Publishing
	Tag         Tag
	Redelivered bool // it was handed out before and not acknowledged
}

// An Exchange is declared as a topic exchange, or as one of another kind where the engine has it;
// else it is ErrUnsupported.
type Exchange struct {
	Name       string
	Kind       string // topic, direct, fanout or headers; empty is topic
	Transient  bool   // not durable
	AutoDelete bool
	Passive    bool // only check that it exists
}

// A Queue is declared with these arguments; declaring it again with others
// is ErrPrecondition (406).
type Queue struct {
	Name       string
	Transient  bool          // not durable
	Exclusive  bool          // only this connection; deleted with it
	AutoDelete bool          // deleted with its last consumer
	Passive    bool          // only check that it exists
	Expires    time.Duration // deleted when unused this long; 0: never
	MessageTTL time.Duration // a publishing is dropped after waiting this long; 0: never
	Args       map[string]any
}

// A Binding routes publishings of Exchange whose key matches Pattern to Queue.
type Binding struct {
	Queue, Exchange, Pattern string
}

// A Conn is one connection to a broker. It re-connects by itself, with a
// jittered back-off, and declares again what was declared through it.
// All methods may be called from several goroutines.
type Conn interface {
	Topology
	// Consume starts a consumer on a queue that exists (else ErrNotFound).
	Consume(ctx context.Context, queue string, o ConsumeOptions) (Consumer, error)
	// Publisher starts a publisher. A Conn may have several.
	Publisher(ctx context.Context, o PublishOptions) (Publisher, error)
	// Close ends all consumers (their unacknowledged deliveries go back to
	// the queue, marked redelivered) and publishers, and the connection.
	Close() error
}

// Topology declares and deletes what messages travel through. Each call is an
// error of this package (see Error) when the broker refuses, and otherwise
// keeps trying while the connection is away, until ctx ends.
type Topology interface {
	Declarer
	Remover
}

// A Declarer makes things, or checks that they are as asked.
type Declarer interface {
	DeclareExchange(ctx context.Context, e Exchange) error
	// DeclareQueue returns the number of messages ready in the queue.
	DeclareQueue(ctx context.Context, q Queue) (ready int, err error)
	Bind(ctx context.Context, b Binding) error
}

// A Remover takes things away. Removing what is not there is not an error.
type Remover interface {
	Unbind(ctx context.Context, b Binding) error
	Purge(ctx context.Context, queue string) (removed int, err error)
	DeleteQueue(ctx context.Context, queue string) error
	// DeleteExchange with ifUnused is ErrPrecondition when queues are bound to it.
	DeleteExchange(ctx context.Context, exchange string, ifUnused bool) error
}

// A Consumer receives deliveries in queue order, at most Prefetch of them
// unacknowledged.
type Consumer interface {
	// Next waits for a delivery. Its error is ctx's, ErrClosed after Close, io.EOF when
	// there will never be another one (a pipe that ended), or a refusal that
	// re-connecting cannot mend (ErrNotFound when the queue was deleted, ErrRefused).
	Next(ctx context.Context) (*Delivery, error)
	// Ack acknowledges exactly these deliveries, in any order and grouping; the engine folds
	// runs of them. Stale tags are passed over. It does not wait for the broker.
	Ack(tags ...Tag) error
	// Reject gives deliveries back: to the queue with requeue (they come
	// again, marked redelivered), else they are dropped.
	Reject(requeue bool, tags ...Tag) error
	Close() error
}

// A Publisher sends publishings and learns when the broker has taken them.
type Publisher interface {
	// Publish hands over one publishing and returns; it waits only while the window of
	// unconfirmed ones is full. done is called exactly once, from
	// another goroutine, in the order of publishing where the broker keeps
	// it: nil when the broker confirmed, ErrUnroutable, ErrNotFound
	// (404, no such exchange), ErrRefused (403), ErrMessage (this one can never be taken) or ErrClosed. A connection that breaks is not an error:
	// what was not confirmed is sent again after re-connecting, so a
	// publishing may arrive twice but is never lost. done must not block nor call Publish.
	// Publish itself fails only with ctx's error or ErrClosed, and then done is not called.
	// Headers and Body belong to the publisher until done is called.
	Publish(ctx context.Context, p Publishing, done func(error)) error
	// Flush waits until everything published before it is done.
	Flush(ctx context.Context) error
	// Close fails what is not confirmed with ErrClosed. Flush first.
	Close() error
}

// ConsumeOptions are the zero value for defaults.
type ConsumeOptions struct {
	Prefetch int    // unacknowledged deliveries at most; default 25
	Name     string // consumer tag shown in the broker's lists; default made up
}

// PublishOptions are the zero value for defaults.
type PublishOptions struct {
	Window int // unconfirmed publishings at most; default 1000
	// Unrouted, where set, is told of each publishing without Mandatory that
	// no queue took. It still counts as confirmed.
	Unrouted func(exchange, key string)
}

// Options are what an engine needs besides its URL.
type Options struct {
	Name   string       // of this program, shown in the broker's list of connections
	Logger *slog.Logger // default: discard
	// Once makes Open and every call fail with ErrUnreachable at the first broken
	// connection in place of trying again until the context ends.
	Once bool
	// OpenOnce makes only Open so impatient; later breaks are mended.
	OpenOnce   bool
	Heartbeat  time.Duration // AMQP heartbeat; default 10 s
	MinBackoff time.Duration // between attempts to connect; default 250 ms, doubling with jitter
	MaxBackoff time.Duration // default 10 s
	// Away, where set, is told of each failure to reach the broker, and with nil of each success.
	// It must not block.
	Away      func(why error)
	TLSRigour string // strict, normal (default) or lax; amqps only
}
