package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"

	"srpump/pump/broker"
)

// busyRetries bounds how often a transaction that found the file locked by an
// outsider, each time for the busy timeout of five seconds, is tried again.
const busyRetries = 12

// A tx is one write transaction; what it rings is rung once it is committed.
type tx struct {
	*database
	c    *conn
	ring map[int64]bool // queues whose consumers have something to do
	also []string       // bells of consumers that are deleted with their queue
}

// wakes notes that consumers of a queue are to be woken.
func (t *tx) wakes(queue int64) { t.ring[queue] = true }

// wakesLeavers notes who consumes a queue that is about to be deleted.
func (t *tx) wakesLeavers(queue int64) error {
	return t.query("SELECT s.bell FROM consumer c JOIN session s ON s.id=c.session WHERE c.queue=?", func(row []driver.Value) error {
		t.also = append(t.also, row[0].(string))
		return nil
	}, queue)
}

// changed tells every other process that its topology is out of date.
func (t *tx) changed() error {
	_, err := t.exec("UPDATE state SET generation=generation+1")
	return err
}

// write runs f in a transaction of its own, again while an outsider (a backup,
// a shell) holds the file. f must leave no trace when it fails.
func (c *conn) write(ctx context.Context, f func(tx *tx) error) error {
	return c.writeUntil(ctx, c.life.Done(), f)
}

func (c *conn) writeUntil(ctx context.Context, closed <-chan struct{}, f func(tx *tx) error) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range busyRetries {
		if c.ended {
			return broker.ErrClosed
		}
		if err = ctx.Err(); err != nil {
			return err
		}
		if err = c.attempt(ctx, closed, f); err == nil || !busy(err) {
			return err
		}
		c.log.Warn("database locked by another program", "path", c.path, "error", err)
	}
	return err
}

func (c *conn) attempt(ctx context.Context, closed <-chan struct{}, f func(tx *tx) error) error {
	if err := c.gate.enter(ctx, closed); err != nil {
		return err
	}
	t := &tx{database: c.database, c: c, ring: map[int64]bool{}}
	err := t.run(f)
	if left := c.gate.leave(); err == nil {
		err = left
	}
	if err != nil {
		c.topology.generation = 0 // what was read in a transaction undone may never have been
		return err
	}
	if len(t.ring) > 0 {
		c.topology.wake(c, t.ring)
	}
	for _, bell := range t.also {
		c.topology.pull(c.path+".d", bell)
	}
	return nil
}

func (t *tx) run(f func(tx *tx) error) error {
	if _, err := t.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := f(t)
	if err == nil {
		_, err = t.exec("COMMIT")
	}
	if err != nil {
		if _, undone := t.exec("ROLLBACK"); undone != nil && code(err) == 0 {
			err = errors.Join(err, undone)
		}
	}
	return err
}

// durably is write, and a sync.
func (c *conn) durably(ctx context.Context, f func(tx *tx) error) error {
	if err := c.write(ctx, f); err != nil {
		return err
	}
	return c.journal.sync()
}

// read runs f with the handle, outside of any transaction.
func (c *conn) read(f func(d *database) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return broker.ErrClosed
	}
	return f(c.database)
}
