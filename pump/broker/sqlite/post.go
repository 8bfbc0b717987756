package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"srpump/pump/broker"
)

const (
	maxBody = 128 << 20 // bytes, as RabbitMQ's default
	maxKey  = 255       // bytes, AMQP 0-9-1 short string
)

// post writes a batch in one transaction, again and again while the disk is
// full or failing, and leaves the outcome in the letters.
func (c *conn) post(p *publisher, batch []*letter) {
	warned := false
	for {
		if p.isClosing() {
			failAll(batch, closedFault("publish", c.path))
			return
		}
		err := c.writeUntil(context.Background(), p.closing, func(tx *tx) error { return newBatch(tx, batch).run() })
		switch {
		case err == nil:
			return
		case errors.Is(err, broker.ErrClosed):
			err = closedFault("publish", c.path)
			failAll(batch, err)
			return
		case corrupt(err), c.options.Once:
			failAll(batch, explain(c.path, err))
			return
		}
		if !warned {
			warned = true
			c.log.Warn("cannot store publishings, trying again", "path", c.path, "error", err)
		}
		p.pause()
	}
}

// harden makes what a batch wrote outlive a power cut. When a sync fails the
// kernel may forget what it could not write, so the log is copied into the
// database, which syncs both, until that succeeds.
func (c *conn) harden(p *publisher, batch []*letter) {
	err := c.journal.sync()
	if err != nil {
		c.log.Warn("cannot sync publishings, trying again", "path", c.path, "error", err)
	}
	for err != nil {
		if p.isClosing() || c.options.Once {
			failAll(batch, fault("publish", c.path, broker.ErrClosed, err.Error(), ""))
			return
		}
		p.pause()
		err = c.read(func(d *database) error { return d.script("PRAGMA wal_checkpoint(TRUNCATE)") })
	}
}

// pause is between attempts at a failing disk.
func (p *publisher) pause() {
	t := time.NewTimer(p.c.backoff())
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.closing:
	}
}

func (c *conn) backoff() time.Duration {
	if c.options.MinBackoff > 0 {
		return c.options.MinBackoff
	}
	return 250 * time.Millisecond
}

func (p *publisher) isClosing() bool {
	select {
	case <-p.closing:
		return true
	default:
		return false
	}
}

func failAll(batch []*letter, err error) {
	for _, l := range batch {
		if l.err == nil {
			l.err = err
		}
	}
}

// A batch is one transaction of publishings. Nothing of it is kept in the
// letters but their outcome, so that it can be run again.
type batch struct {
	tx      *tx
	letters []*letter
	now     int64
	places  map[*target]*place
	targets []*target
	rows    []driver.Value // of an INSERT not yet made
}

// A place is where a queue's numbers stand: the last one given out, and the
// last one its limit allows.
type place struct{ tail, limit int64 }

func newBatch(tx *tx, letters []*letter) *batch {
	return &batch{tx: tx, letters: letters, now: tx.c.clock.now(), places: map[*target]*place{}}
}

func (b *batch) run() error {
	if err := b.tx.c.topology.refresh(b.tx.database); err != nil {
		return err
	}
	for _, l := range b.letters {
		l.unrouted = false
		if l.err = b.address(l); l.err != nil {
			continue
		}
		if err := b.write(l); err != nil {
			return err
		}
	}
	if err := b.flush(1); err != nil {
		return err
	}
	for q, at := range b.places {
		if _, err := b.tx.exec("UPDATE queue SET tail=? WHERE id=?", at.tail, q.id); err != nil {
			return err
		}
		b.tx.wakes(q.id)
	}
	return nil
}

// address finds the queues of a letter, or why it is refused.
func (b *batch) address(l *letter) error {
	p := &l.p
	switch {
	case len(p.Key) > maxKey:
		return fault("publish", p.Exchange, broker.ErrMessage,
			fmt.Sprintf("a key of %d bytes, longer than %d", len(p.Key), maxKey), "shorten the topic")
	case len(p.Body) > maxBody:
		return fault("publish", p.Exchange, broker.ErrMessage,
			fmt.Sprintf("a body of %d bytes, larger than %d", len(p.Body), maxBody), "announce a file and let it be fetched")
	}
	var known bool
	b.targets, known = b.tx.c.topology.route(p.Exchange, p.Key, b.targets[:0])
	switch {
	case !known:
		return noExchange("publish", p.Exchange)
	case len(b.targets) > 0:
		return nil
	case p.Mandatory:
		return fault("publish", p.Exchange, broker.ErrUnroutable, "key "+strconv.Quote(p.Key),
			"start the receiver first, or bind its queue to this exchange")
	}
	l.unrouted = true
	return nil
}

// write puts a letter into each of its queues, or into none when one is full.
func (b *batch) write(l *letter) error {
	for _, q := range b.targets {
		at, err := b.place(q)
		if err != nil {
			return err
		}
		if at.tail >= at.limit {
			l.err = fault("publish", q.name, broker.ErrRefused,
				fmt.Sprintf("the queue holds %d publishings, its limit", q.maximum),
				"start its subscriber, purge or delete the queue, or declare it with a larger x-max-length")
			return nil
		}
	}
	var properties []byte
	for _, q := range b.targets {
		if properties == nil {
			properties = encodeProperties(&l.p)
		}
		at := b.places[q]
		at.tail++
		b.rows = append(b.rows, q.id<<seqBits|at.tail, b.due(q, l.p.Expiration), l.p.Exchange, l.p.Key, properties, l.p.Body)
		if err := b.flush(rowsPerInsert); err != nil {
			return err
		}
	}
	return nil
}

// place looks up, once in a transaction, where a queue's numbers stand.
func (b *batch) place(q *target) (*place, error) {
	if at := b.places[q]; at != nil {
		return at, nil
	}
	at := &place{limit: math.MaxInt64}
	err := b.tx.query("SELECT tail, cursor FROM queue WHERE id=?", func(row []driver.Value) error {
		at.tail = row[0].(int64)
		if q.maximum > 0 {
			at.limit = row[1].(int64) + q.maximum
		}
		return nil
	}, q.id)
	b.places[q] = at
	return at, err
}

// rowsPerInsert rows go into one statement: a third faster than one each.
const rowsPerInsert = 16

const columns = 6

// flush makes the INSERT once at least so many rows are waiting.
func (b *batch) flush(least int) error {
	for len(b.rows) >= least*columns {
		n := min(len(b.rows)/columns, rowsPerInsert)
		if n < rowsPerInsert {
			n = 1
		}
		sql := insertOne
		if n == rowsPerInsert {
			sql = insertMany
		}
		if _, err := b.tx.exec(sql, b.rows[:n*columns]...); err != nil {
			return err
		}
		b.rows = b.rows[:copy(b.rows, b.rows[n*columns:])]
	}
	return nil
}

const (
	insertOne  = "INSERT INTO entry VALUES (?,?,?,?,?,?)"
	insertMany = insertOne + fourRows + fourRows + fourRows + threeRows
	threeRows  = ",(?,?,?,?,?,?),(?,?,?,?,?,?),(?,?,?,?,?,?)"
	fourRows   = threeRows + ",(?,?,?,?,?,?)"
)

// due is when an entry expires by its queue's or its own time to live, or nil.
func (b *batch) due(q *target, expiration string) driver.Value {
	ttl := q.ttl
	if ms, err := strconv.ParseInt(strings.TrimSpace(expiration), 10, 64); expiration != "" && err == nil && ms >= 0 {
		if ttl == 0 || ms < ttl {
			return b.now + ms
		}
	}
	if ttl == 0 {
		return nil
	}
	return b.now + ttl
}
