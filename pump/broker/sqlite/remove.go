package sqlite

import (
	"context"
	"database/sql/driver"

	"srpump/pump/broker"
)

// purgeStep entries are deleted in one transaction, so that others get their turn.
const purgeStep = 5000

// Unbind implements broker.Remover.
func (c *conn) Unbind(ctx context.Context, b broker.Binding) error {
	err := c.durably(ctx, func(tx *tx) error {
		n, err := tx.exec(`DELETE FROM binding WHERE exchange=? AND pattern=?
			AND queue=(SELECT id FROM queue WHERE name=?)`, b.Exchange, b.Pattern, b.Queue)
		if err != nil || n == 0 {
			return err
		}
		if err := tx.dropUnbound(); err != nil {
			return err
		}
		return tx.changed()
	})
	return c.refuse("unbind", b.Queue, err)
}

// dropUnbound deletes auto-delete exchanges that have just lost a binding and have none left.
func (t *tx) dropUnbound() error {
	_, err := t.exec(`DELETE FROM exchange WHERE autodelete AND name NOT IN (SELECT exchange FROM binding)`)
	return err
}

// Purge implements broker.Remover.
func (c *conn) Purge(ctx context.Context, name string) (removed int, err error) {
	last := int64(-1)
	for more := true; more && err == nil; {
		err = c.durably(ctx, func(tx *tx) error {
			n, left, err := tx.purgeSome("purge", name, &last)
			removed += n
			more = left
			return err
		})
	}
	return removed, c.refuse("purge", name, err)
}

// purgeSome drops what came back, and the next entries up to number last,
// which is the queue's end when the purge began.
func (t *tx) purgeSome(op, name string, last *int64) (n int, more bool, err error) {
	q, err := t.need(op, name)
	if err != nil {
		return 0, false, err
	}
	if *last < 0 {
		*last = q.tail
	}
	to := min(q.cursor+purgeStep, *last)
	if to > q.cursor {
		if n, err = t.skip(q, to); err != nil {
			return 0, false, err
		}
	}
	back, err := t.exec(`DELETE FROM entry WHERE id IN
		(SELECT id FROM returned WHERE holder=0 AND id BETWEEN ? AND ?)`, q.first(), q.last())
	if err != nil {
		return 0, false, err
	}
	_, err = t.exec("DELETE FROM returned WHERE holder=0 AND id BETWEEN ? AND ?", q.first(), q.last())
	return n + int(back), to < *last, err
}

// skip deletes the waiting entries up to number to and moves the cursor there.
func (t *tx) skip(q *queue, to int64) (int, error) {
	n, err := t.exec("DELETE FROM entry WHERE id BETWEEN ? AND ?", q.first()|(q.cursor+1), q.first()|to)
	if err != nil {
		return 0, err
	}
	_, err = t.exec("UPDATE queue SET cursor=? WHERE id=?", to, q.id)
	return int(n), err
}

// DeleteQueue implements broker.Remover.
func (c *conn) DeleteQueue(ctx context.Context, name string) error {
	err := c.durably(ctx, func(tx *tx) error {
		q, err := tx.find(name)
		switch {
		case err != nil || q == nil:
			return err
		case q.exclusive && q.owner != c.sessionID():
			return locked("delete queue", name)
		}
		return tx.drop(q.id)
	})
	if err == nil {
		err = c.clearOrphans(ctx)
	}
	return c.refuse("delete queue", name, err)
}

// drop deletes a queue; its entries become an orphan's. Its consumers are woken to learn it.
func (t *tx) drop(id int64) error {
	if err := t.wakesLeavers(id); err != nil {
		return err
	}
	for _, sql := range []string{
		"DELETE FROM binding WHERE queue=?",
		"DELETE FROM consumer WHERE queue=?",
		"INSERT OR IGNORE INTO orphan VALUES(?)",
		"DELETE FROM queue WHERE id=?",
	} {
		if _, err := t.exec(sql, id); err != nil {
			return err
		}
	}
	if err := t.dropUnbound(); err != nil {
		return err
	}
	return t.changed()
}

// clearOrphans deletes the entries of deleted queues, some at a time.
func (c *conn) clearOrphans(ctx context.Context) error {
	for {
		var id int64
		found := false
		err := c.read(func(d *database) (err error) {
			id, found, err = d.number("SELECT queue FROM orphan LIMIT 1")
			return err
		})
		if err != nil || !found {
			return err
		}
		if err := c.write(ctx, func(tx *tx) error { return tx.clear(&queue{id: id}) }); err != nil {
			return err
		}
	}
}

func (t *tx) clear(q *queue) error {
	n, err := t.exec("DELETE FROM entry WHERE id IN (SELECT id FROM entry WHERE id BETWEEN ? AND ? LIMIT ?)",
		q.first(), q.last(), int64(purgeStep))
	if err != nil || n == purgeStep {
		return err
	}
	if _, err := t.exec("DELETE FROM returned WHERE id BETWEEN ? AND ?", q.first(), q.last()); err != nil {
		return err
	}
	if _, err := t.exec("DELETE FROM claim WHERE first BETWEEN ? AND ?", q.first(), q.last()); err != nil {
		return err
	}
	_, err = t.exec("DELETE FROM orphan WHERE queue=?", q.id)
	return err
}

// DeleteExchange implements broker.Remover.
func (c *conn) DeleteExchange(ctx context.Context, exchange string, ifUnused bool) error {
	const op = "delete exchange"
	err := c.durably(ctx, func(tx *tx) error {
		var bound string
		err := tx.query("SELECT q.name FROM binding b JOIN queue q ON q.id=b.queue WHERE b.exchange=? LIMIT 1",
			func(row []driver.Value) error { bound = row[0].(string); return nil }, exchange)
		if err != nil {
			return err
		}
		if ifUnused && bound != "" {
			return fault(op, exchange, broker.ErrPrecondition, "queue "+bound+" is bound to it", "delete or unbind its queues first")
		}
		for _, sql := range []string{"DELETE FROM binding WHERE exchange=?", "DELETE FROM exchange WHERE name=?"} {
			if _, err := tx.exec(sql, exchange); err != nil {
				return err
			}
		}
		return tx.changed()
	})
	return c.refuse(op, exchange, err)
}
