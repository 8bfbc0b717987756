package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"srpump/pump/broker"
)

// timeEvery is how often the pump's time is marked for the next boot.
const timeEvery = int64(time.Minute / time.Millisecond)

// housekeeping sweeps at once and then every second, and looks for publishings whose bell was lost.
func (c *conn) housekeeping() {
	t := time.NewTicker(sweepEvery)
	defer t.Stop()
	var said time.Time
	for {
		err := c.sweep()
		if err != nil && !errors.Is(err, broker.ErrClosed) && !errors.Is(err, context.Canceled) && time.Since(said) > time.Minute {
			said = time.Now()
			c.log.Warn("cannot sweep", "path", c.path, "error", err)
		}
		select {
		case <-t.C:
			c.wakeConsumers()
		case <-c.life.Done():
			return
		}
	}
}

// sweep buries the dead, drops what has expired and clears what was deleted.
// It reads first and writes only when there is something to do.
func (c *conn) sweep() error {
	if err := c.buryDead(); err != nil {
		return err
	}
	for more := true; more; {
		due, err := c.overdue()
		if err != nil || !due {
			break
		}
		err = c.write(c.life, func(tx *tx) (err error) {
			more, err = tx.dropOverdue()
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := c.clearOrphans(c.life); err != nil {
		return err
	}
	return c.markTime()
}

func (c *conn) markTime() error {
	var seen int64
	err := c.read(func(d *database) (err error) {
		seen, _, err = d.number("SELECT seen_pump FROM state")
		return err
	})
	if err != nil || c.clock.now()-seen < timeEvery {
		return err
	}
	return c.write(c.life, c.noteTime)
}

// buryDead ends the sessions whose bell nobody reads any more.
func (c *conn) buryDead() error {
	dead := map[int64]string{}
	dir, self := c.path+".d", c.sessionID()
	err := c.read(func(d *database) error {
		return d.query("SELECT id, bell FROM session", func(row []driver.Value) error {
			id, bell := row[0].(int64), row[1].(string)
			if id != self && !alive(dir, bell) {
				dead[id] = bell
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for id, bell := range dead {
		err := c.write(c.life, func(tx *tx) error { return c.bury(tx, id, bell) })
		if err != nil {
			return err
		}
		c.log.Debug("session ended", "session", id)
	}
	return nil
}

// bury gives back what a session held and deletes what was only its own.
func (c *conn) bury(tx *tx, id int64, bell string) error {
	members := map[int64]int64{}
	err := tx.query("SELECT id, queue FROM consumer WHERE session=?", func(row []driver.Value) error {
		members[row[0].(int64)] = row[1].(int64)
		return nil
	}, id)
	if err != nil {
		return err
	}
	for consumer, queue := range members {
		if err := tx.retire(consumer, queue); err != nil {
			return err
		}
	}
	own, err := tx.ids("SELECT id FROM queue WHERE exclusive AND owner=?", id)
	if err != nil {
		return err
	}
	for _, q := range own {
		if err := tx.drop(q); err != nil {
			return err
		}
	}
	if _, err := tx.exec("DELETE FROM session WHERE id=?", id); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(c.path+".d", bell)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return c.removeStrays(tx)
}

// removeStrays deletes bells of sessions that died before they had a row. It
// runs within a transaction, so no session is between its bell and its row
// unless its bell is read.
func (c *conn) removeStrays(tx *tx) error {
	dir := c.path + ".d"
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".bell") || alive(dir, f.Name()) {
			continue
		}
		_, known, err := tx.number("SELECT 1 FROM session WHERE bell=?", f.Name())
		if err != nil {
			return err
		}
		if !known {
			os.Remove(filepath.Join(dir, f.Name()))
		}
	}
	return nil
}

const retireClaims = `INSERT OR IGNORE INTO returned SELECT e.id, 0 FROM claim c CROSS JOIN entry e
	ON e.id BETWEEN c.first AND c.last WHERE c.consumer=?`

// retire ends a consumer: what it still holds goes back to the queue.
func (t *tx) retire(consumer, queue int64) error {
	for _, sql := range []string{
		retireClaims,
		"UPDATE returned SET holder=0 WHERE holder=?",
		"DELETE FROM claim WHERE consumer=?",
		"DELETE FROM consumer WHERE id=?",
	} {
		if _, err := t.exec(sql, consumer); err != nil {
			return err
		}
	}
	t.wakes(queue)
	if _, err := t.exec("UPDATE queue SET used=? WHERE id=?", t.c.clock.now(), queue); err != nil {
		return err
	}
	_, unused, err := t.number(`SELECT 1 FROM queue WHERE id=? AND autodelete
		AND NOT EXISTS (SELECT 1 FROM consumer WHERE queue=queue.id)`, queue)
	if err == nil && unused {
		return t.drop(queue)
	}
	return errors.Join(err, t.changed())
}

// overdue and dropOverdue look at the head of each queue only, as RabbitMQ does:
// an entry that expires behind one that does not is dropped when its turn comes.
// CROSS JOIN fixes the order: the planner, without statistics, would otherwise
// read every entry there is to find the few that came back.
const overdueQueues = `SELECT q.id FROM queue q WHERE
	(SELECT e.due FROM entry e WHERE e.id=(q.id<<40|(q.cursor+1)))<=?1
	OR EXISTS (SELECT 1 FROM returned r CROSS JOIN entry e ON e.id=r.id
		WHERE r.holder=0 AND r.id BETWEEN q.id<<40 AND (q.id<<40|1099511627775) AND e.due<=?1)`

const unusedQueues = `SELECT id FROM queue WHERE expires>0 AND used+expires<=?
	AND NOT EXISTS (SELECT 1 FROM consumer WHERE queue=queue.id)`

func (c *conn) overdue() (found bool, err error) {
	now := c.clock.now()
	err = c.read(func(d *database) error {
		for _, sql := range []string{overdueQueues, unusedQueues} {
			_, some, err := d.number(sql, now)
			if err != nil {
				return err
			}
			found = found || some
		}
		return nil
	})
	return found, err
}

// dropOverdue drops a bounded number of entries and every queue whose time is over.
func (t *tx) dropOverdue() (more bool, err error) {
	now := t.c.clock.now()
	unused, err := t.ids(unusedQueues, now)
	if err != nil {
		return false, err
	}
	for _, id := range unused {
		if err := t.drop(id); err != nil {
			return false, err
		}
	}
	queues, err := t.ids(overdueQueues, now)
	if err != nil {
		return false, err
	}
	for _, id := range queues {
		if err := t.dropHead(id, now); err != nil {
			return false, err
		}
	}
	return len(queues) > 0, nil
}

func (t *tx) ids(sql string, args ...driver.Value) (ids []int64, err error) {
	err = t.query(sql, func(row []driver.Value) error {
		ids = append(ids, row[0].(int64))
		return nil
	}, args...)
	return ids, err
}

const returnedOverdue = `SELECT r.id FROM returned r CROSS JOIN entry e ON e.id=r.id WHERE r.holder=0 AND e.due<=?1
	AND r.id BETWEEN ?2 AND ?3`

// dropHead drops expired entries from the head of a queue, and those that came back.
func (t *tx) dropHead(id, now int64) error {
	q := &queue{id: id}
	err := t.query("SELECT cursor, tail FROM queue WHERE id=?", func(row []driver.Value) error {
		q.cursor, q.tail = row[0].(int64), row[1].(int64)
		return nil
	}, id)
	if err != nil {
		return err
	}
	to := q.cursor
	err = t.query("SELECT id, due FROM entry WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?", func(row []driver.Value) error {
		if due, ok := row[1].(int64); !ok || due > now {
			return errEnough
		}
		to = row[0].(int64) & (1<<seqBits - 1)
		return nil
	}, q.first()|(q.cursor+1), q.first()|q.tail, int64(purgeStep))
	if err != nil {
		return err
	}
	if to > q.cursor {
		if _, err := t.skip(q, to); err != nil {
			return err
		}
	}
	back, err := t.ids(returnedOverdue, now, q.first(), q.last())
	if err != nil {
		return err
	}
	return t.expire(back)
}
