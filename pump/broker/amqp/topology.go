package amqp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
)

// maxShort is the length in bytes an AMQP short string may have.
const maxShort = 255

// on runs f on the topology channel. Names too long for the wire are refused
// here: the library would break the connection over them.
func (c *conn) on(ctx context.Context, op, object string, names []string, f func(*amqp.Channel) error) error {
	for _, s := range append(names, object) {
		if len(s) > maxShort {
			return &broker.Error{Op: op, Object: object, Kind: broker.ErrPrecondition,
				Reason: fmt.Sprintf("%d bytes are too long for a name or pattern, at most %d", len(s), maxShort)}
		}
	}
	return c.do(ctx, op, object, func(l *link) error { return l.call(ctx, f) })
}

// DeclareExchange implements broker.Declarer.
func (c *conn) DeclareExchange(ctx context.Context, e broker.Exchange) error {
	err := c.on(ctx, "declare exchange", e.Name, nil, exchangeDeclare(e))
	if err == nil {
		c.declared.Add(1)
		if !e.Passive {
			c.ledger.addExchange(e)
		}
	}
	return err
}

func exchangeDeclare(e broker.Exchange) func(*amqp.Channel) error {
	kind := cmp.Or(e.Kind, amqp.ExchangeTopic)
	return func(ch *amqp.Channel) error {
		if e.Passive {
			return ch.ExchangeDeclarePassive(e.Name, kind, !e.Transient, e.AutoDelete, false, false, nil)
		}
		return ch.ExchangeDeclare(e.Name, kind, !e.Transient, e.AutoDelete, false, false, nil)
	}
}

// DeclareQueue implements broker.Declarer. The name may not be empty: names
// made up by the broker do not outlive a connection.
func (c *conn) DeclareQueue(ctx context.Context, q broker.Queue) (ready int, err error) {
	args := queueArgs(q)
	if err := args.Validate(); err != nil || q.Name == "" {
		reason := "a queue needs a name"
		if err != nil {
			reason = err.Error()
		}
		return 0, &broker.Error{Op: "declare queue", Object: q.Name, Kind: broker.ErrPrecondition, Reason: reason}
	}
	err = c.on(ctx, "declare queue", q.Name, nil, queueDeclare(q, args, &ready))
	if err == nil && !q.Passive {
		c.ledger.addQueue(q)
	}
	return ready, err
}

func queueDeclare(q broker.Queue, args amqp.Table, ready *int) func(*amqp.Channel) error {
	return func(ch *amqp.Channel) error {
		declare := ch.QueueDeclare
		if q.Passive {
			declare = ch.QueueDeclarePassive
		}
		got, err := declare(q.Name, !q.Transient, q.AutoDelete, q.Exclusive, false, args)
		if err == nil {
			*ready = got.Messages
		}
		return err
	}
}

// queueArgs are q's arguments as RabbitMQ calls them, times in milliseconds.
func queueArgs(q broker.Queue) amqp.Table {
	args := amqp.Table{}
	maps.Copy(args, q.Args)
	if q.Expires > 0 {
		args["x-expires"] = q.Expires.Milliseconds()
	}
	if q.MessageTTL > 0 {
		args["x-message-ttl"] = q.MessageTTL.Milliseconds()
	}
	return args
}

// Bind implements broker.Declarer.
func (c *conn) Bind(ctx context.Context, b broker.Binding) error {
	err := c.on(ctx, "bind", b.Queue, []string{b.Exchange, b.Pattern}, func(ch *amqp.Channel) error {
		return ch.QueueBind(b.Queue, b.Pattern, b.Exchange, false, nil)
	})
	if err == nil {
		c.ledger.addBinding(b)
	}
	return err
}

// Unbind implements broker.Remover.
func (c *conn) Unbind(ctx context.Context, b broker.Binding) error {
	c.ledger.dropBinding(b)
	return gone(c.on(ctx, "unbind", b.Queue, []string{b.Exchange, b.Pattern}, func(ch *amqp.Channel) error {
		return ch.QueueUnbind(b.Queue, b.Pattern, b.Exchange, nil)
	}))
}

// Purge implements broker.Remover.
func (c *conn) Purge(ctx context.Context, queue string) (removed int, err error) {
	err = c.on(ctx, "purge", queue, nil, func(ch *amqp.Channel) (err error) {
		removed, err = ch.QueuePurge(queue, false)
		return err
	})
	return removed, gone(err)
}

// DeleteQueue implements broker.Remover.
func (c *conn) DeleteQueue(ctx context.Context, queue string) error {
	c.ledger.dropQueue(queue)
	return gone(c.on(ctx, "delete queue", queue, nil, func(ch *amqp.Channel) error {
		_, err := ch.QueueDelete(queue, false, false, false)
		return err
	}))
}

// DeleteExchange implements broker.Remover.
func (c *conn) DeleteExchange(ctx context.Context, exchange string, ifUnused bool) error {
	err := gone(c.on(ctx, "delete exchange", exchange, nil, func(ch *amqp.Channel) error {
		return ch.ExchangeDelete(exchange, ifUnused, false)
	}))
	if err == nil {
		c.ledger.dropExchange(exchange)
	}
	return err
}

// gone forgives the absence of what was to be removed.
func gone(err error) error {
	if errors.Is(err, broker.ErrNotFound) {
		return nil
	}
	return err
}

// restore declares again on l what the ledger holds for queue, or everything
// when queue is empty. A refusal is logged, once a minute as it is tried again, and
// returned, but the rest is declared all the same.
func (c *conn) restore(ctx context.Context, l *link, queue string) error {
	var refusal error
	loud := c.mayComplain()
	declare := func(op, object string, f func(*amqp.Channel) error) {
		err := l.call(ctx, f)
		if err == nil || l.broken() || ctx.Err() != nil {
			return
		}
		err = c.explain(op, object, err)
		if loud {
			c.log.Warn("cannot declare again", "broker", c.to.safe, "error", err, "hint", broker.Hint(err))
		}
		refusal = errors.Join(refusal, err)
	}
	exchanges, queues, bindings := c.ledger.copy(queue)
	for _, e := range exchanges {
		declare("declare exchange", e.Name, exchangeDeclare(e))
	}
	for _, q := range queues {
		var ready int
		declare("declare queue", q.Name, queueDeclare(q, queueArgs(q), &ready))
	}
	for _, b := range bindings {
		declare("bind", b.Queue, func(ch *amqp.Channel) error {
			return ch.QueueBind(b.Queue, b.Pattern, b.Exchange, false, nil)
		})
	}
	if refusal != nil && loud {
		c.complained.Store(time.Now().UnixNano())
	}
	return refusal
}

// mayComplain reports whether refusals to declare again were last logged a while ago.
func (c *conn) mayComplain() bool {
	return time.Since(time.Unix(0, c.complained.Load())) > logEvery
}
