package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"srpump/pump/broker"
)

// defaultMaximum is how many publishings wait in a queue at most, unless its
// x-max-length says otherwise: a forgotten queue must not fill the disk unseen.
const defaultMaximum = 10_000_000

// A queue is the row of one.
type queue struct {
	id, owner                        int64
	transient, exclusive, autodelete bool
	expires, ttl, maximum            int64 // milliseconds, milliseconds, entries
	args                             []byte
	cursor, tail                     int64
	name                             string
}

const queueColumns = "id, owner, transient, exclusive, autodelete, expires, ttl, maximum, args, cursor, tail, name"

// find is the row of the queue of that name, nil when there is none.
func (d *database) find(name string) (q *queue, err error) {
	err = d.query("SELECT "+queueColumns+" FROM queue WHERE name=?", func(row []driver.Value) error {
		q = scanQueue(row)
		return nil
	}, name)
	return q, err
}

func scanQueue(row []driver.Value) *queue {
	flag := func(i int) bool { return row[i].(int64) != 0 }
	args, _ := row[8].([]byte)
	return &queue{
		id: row[0].(int64), owner: row[1].(int64),
		transient: flag(2), exclusive: flag(3), autodelete: flag(4),
		expires: row[5].(int64), ttl: row[6].(int64), maximum: row[7].(int64), args: args,
		cursor: row[9].(int64), tail: row[10].(int64), name: row[11].(string),
	}
}

// need is find for a queue that must exist and be usable by this connection.
func (t *tx) need(op, name string) (*queue, error) {
	q, err := t.find(name)
	switch {
	case err != nil:
		return nil, err
	case q == nil:
		return nil, noQueue(op, name)
	case q.exclusive && q.owner != t.c.sessionID():
		return nil, locked(op, name)
	}
	return q, nil
}

func (c *conn) sessionID() int64 {
	if id := c.self.Load(); id != 0 {
		return id
	}
	return -1
}

// ready is how many publishings wait in a queue.
func (d *database) ready(q *queue) (int, error) {
	back, _, err := d.number("SELECT count(*) FROM returned WHERE holder=0 AND id BETWEEN ? AND ?", q.first(), q.last())
	return int(q.tail - q.cursor + back), err
}

// first and last bound the ids of a queue's entries.
func (q *queue) first() int64 { return q.id << seqBits }
func (q *queue) last() int64  { return q.id<<seqBits | (1<<seqBits - 1) }

// DeclareQueue implements broker.Declarer.
func (c *conn) DeclareQueue(ctx context.Context, want broker.Queue) (ready int, err error) {
	const op = "declare queue"
	if want.Name == "" || len(want.Name) > maxKey {
		return 0, fault(op, want.Name, broker.ErrRefused, "a queue's name has 1 to 255 bytes", "")
	}
	if want.Exclusive && !want.Passive {
		if _, err := c.here(ctx); err != nil {
			return 0, c.refuse(op, want.Name, err)
		}
	}
	err = c.durably(ctx, func(tx *tx) error {
		q, err := tx.find(want.Name)
		if err != nil {
			return err
		}
		if q == nil && !want.Passive {
			return tx.create(wanted(want))
		}
		if ready, err = tx.inspect(op, want); err != nil {
			return err
		}
		return tx.touch(q)
	})
	return ready, c.refuse(op, want.Name, err)
}

// inspect compares a queue with what is wanted, and counts it.
func (t *tx) inspect(op string, want broker.Queue) (int, error) {
	q, err := t.need(op, want.Name)
	if err != nil {
		return 0, err
	}
	if !want.Passive {
		if err := q.differs(wanted(want)); err != nil {
			return 0, err
		}
	}
	return t.ready(q)
}

// touch notes that a queue which may expire is in use.
func (t *tx) touch(q *queue) error {
	if q.expires == 0 {
		return nil
	}
	_, err := t.exec("UPDATE queue SET used=? WHERE id=?", t.c.clock.now(), q.id)
	return err
}

func wanted(b broker.Queue) *queue {
	q := &queue{
		name: b.Name, transient: b.Transient, exclusive: b.Exclusive, autodelete: b.AutoDelete,
		expires: milliseconds(b.Expires), ttl: milliseconds(b.MessageTTL), maximum: defaultMaximum,
	}
	if len(b.Args) > 0 {
		q.args = appendTable(nil, b.Args)
	}
	var n int64
	if _, err := fmt.Sscan(fmt.Sprint(b.Args["x-max-length"]), &n); err == nil && n > 0 {
		q.maximum = n
	}
	return q
}

// milliseconds rounds up, so that no wait becomes "never".
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// differs names the first argument in which a declaration departs from what is there.
func (q *queue) differs(want *queue) error {
	for _, a := range []struct {
		name      string
		have, ask any
	}{
		{"transient", q.transient, want.transient},
		{"exclusive", q.exclusive, want.exclusive},
		{"auto-delete", q.autodelete, want.autodelete},
		{"expires (ms)", q.expires, want.expires},
		{"message ttl (ms)", q.ttl, want.ttl},
	} {
		if a.have != a.ask {
			return otherwise(q.name, fmt.Sprintf("%s is %v, not %v", a.name, a.have, a.ask))
		}
	}
	if !bytes.Equal(q.args, want.args) {
		have, ask := reader{b: q.args}, reader{b: want.args}
		return otherwise(q.name, fmt.Sprintf("arguments are %v, not %v", have.arguments(), ask.arguments()))
	}
	return nil
}

func (r *reader) arguments() map[string]any {
	if len(r.b) == 0 {
		return map[string]any{}
	}
	return r.table()
}

func otherwise(queue, reason string) error {
	return fault("declare queue", queue, broker.ErrPrecondition, reason,
		"use the arguments it was declared with, or delete the queue once it is empty")
}

func (t *tx) create(q *queue) error {
	if q.exclusive {
		q.owner = t.c.sessionID()
	}
	id, err := t.insert(`INSERT INTO queue(name, transient, owner, exclusive, autodelete, expires, ttl, args, maximum, used)
		VALUES(?,?,?,?,?,?,?,?,?,?)`, q.name, q.transient, q.owner, q.exclusive, q.autodelete,
		q.expires, q.ttl, q.args, q.maximum, t.c.clock.now())
	if err != nil {
		return err
	}
	if id > maxQueueID {
		return fault("declare queue", q.name, broker.ErrRefused, "this file has had all the queues it can",
			"move its contents to a new file")
	}
	return t.changed()
}

// DeclareExchange implements broker.Declarer.
func (c *conn) DeclareExchange(ctx context.Context, e broker.Exchange) error {
	const op = "declare exchange"
	if e.Name == "" || len(e.Name) > maxKey || strings.HasPrefix(e.Name, "amq.") {
		return fault(op, e.Name, broker.ErrRefused, "the name is reserved, empty or longer than 255 bytes", "")
	}
	if e.Kind != "" && e.Kind != "topic" {
		return fault(op, e.Name, broker.ErrUnsupported, "an exchange of type "+e.Kind, "the local broker has topic exchanges: bind # for fanout, the key itself for direct")
	}
	err := c.durably(ctx, func(tx *tx) error {
		var have *broker.Exchange
		err := tx.query("SELECT transient, autodelete FROM exchange WHERE name=?", func(row []driver.Value) error {
			have = &broker.Exchange{Transient: row[0].(int64) != 0, AutoDelete: row[1].(int64) != 0}
			return nil
		}, e.Name)
		switch {
		case err != nil:
			return err
		case have == nil && e.Passive:
			return noExchange(op, e.Name)
		case have == nil:
			if _, err := tx.exec("INSERT INTO exchange VALUES(?,?,?)", e.Name, e.Transient, e.AutoDelete); err != nil {
				return err
			}
			return tx.changed()
		case !e.Passive && (have.Transient != e.Transient || have.AutoDelete != e.AutoDelete):
			return fault(op, e.Name, broker.ErrPrecondition,
				fmt.Sprintf("transient is %v, auto-delete is %v", have.Transient, have.AutoDelete), "declare it as it is")
		}
		return nil
	})
	return c.refuse(op, e.Name, err)
}

// Bind implements broker.Declarer.
func (c *conn) Bind(ctx context.Context, b broker.Binding) error {
	const op = "bind"
	if b.Exchange == "" || len(b.Pattern) > maxKey {
		return fault(op, b.Queue, broker.ErrRefused, "the default exchange cannot be bound, nor a pattern beyond 255 bytes", "")
	}
	err := c.durably(ctx, func(tx *tx) error {
		q, err := tx.need(op, b.Queue)
		if err != nil {
			return err
		}
		if _, found, err := tx.number("SELECT 1 FROM exchange WHERE name=?", b.Exchange); err != nil || !found {
			return errors.Join(err, absent(found, op, b.Exchange))
		}
		n, err := tx.exec("INSERT OR IGNORE INTO binding VALUES(?,?,?)", b.Exchange, q.id, b.Pattern)
		if err != nil || n == 0 {
			return err
		}
		return tx.changed()
	})
	return c.refuse(op, b.Queue, err)
}

func absent(found bool, op, exchange string) error {
	if found {
		return nil
	}
	return noExchange(op, exchange)
}

// refuse dresses what is not a *broker.Error nor the context's as one.
func (c *conn) refuse(op, object string, err error) error {
	var known *broker.Error
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, broker.ErrClosed):
		return closedFault(op, object)
	}
	return explain(c.path, err)
}
