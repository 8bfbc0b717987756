package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"

	"srpump/pump/broker"
)

const (
	claimCount = 128     // entries claimed at once at most
	claimBytes = 4 << 20 // and about this many bytes of bodies
)

// replenish claims as much as the prefetch leaves room for, and tells whether anything came.
func (k *consumer) replenish(ctx context.Context) (bool, error) {
	k.mu.Lock()
	room := k.prefetch - len(k.held)
	k.mu.Unlock()
	if room <= 0 {
		return false, nil
	}
	if err := k.transact(ctx, room); err != nil {
		return false, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.buffer) > 0, nil
}

// takeSettling is what is to be settled; a transaction that fails puts it back.
func (k *consumer) takeSettling() []settlement {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.settling
	k.settling = nil
	return s
}

// transact writes down what is settled and claims up to room entries, in one transaction.
func (k *consumer) transact(ctx context.Context, room int) error {
	k.turn.Lock()
	defer k.turn.Unlock()
	if room > 0 {
		if waiting, err := k.anything(); err != nil || !waiting {
			return err
		}
	}
	settling := k.takeSettling()
	if room == 0 && len(settling) == 0 {
		return nil
	}
	var taken []taken
	err := k.c.writeUntil(ctx, k.closing, func(tx *tx) (err error) {
		if err := tx.settle(settling); err != nil || room == 0 {
			return err
		}
		taken, err = tx.claim(k, room)
		return err
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.settling = append(settling, k.settling...)
		return err
	}
	k.settled(settling)
	k.accept(taken)
	if room > 0 && len(taken) == 0 {
		poke(k.wake) // all it found had expired, or another was faster: look again
	}
	return nil
}

// anything looks, without a transaction, whether the queue has something; when
// not, acknowledgements need not be hurried.
func (k *consumer) anything() (bool, error) {
	waiting := false
	err := k.c.read(func(d *database) error {
		n, found, err := d.number(`SELECT tail>cursor OR EXISTS
			(SELECT 1 FROM returned WHERE holder=0 AND id BETWEEN ? AND ?) FROM queue WHERE id=?`,
			k.queue.first(), k.queue.last(), k.queue.id)
		if err == nil && !found {
			return noQueue("consume", k.queue.name)
		}
		waiting = n != 0
		return err
	})
	return waiting, err
}

// A taken entry is one just claimed.
type taken struct {
	held
	d *broker.Delivery
}

// accept numbers what was claimed and hands it to Next.
func (k *consumer) accept(all []taken) {
	for _, t := range all {
		k.last++
		t.d.Tag = broker.Tag{Epoch: uint32(k.id), N: k.last}
		k.held[k.last] = t.held
		k.buffer = append(k.buffer, t.d)
	}
}

// settled counts down the claims of what has been written down. An empty one
// has no entries left and does no harm until its row is deleted.
func (k *consumer) settled(all []settlement) {
	for _, s := range all {
		if s.claim != nil {
			s.claim.left--
		}
	}
}

// settle deletes what is gone, in runs of neighbours, and returns the rest.
func (t *tx) settle(all []settlement) error {
	var ids []int64
	emptied := map[*claim]int{}
	for _, s := range all {
		if s.claim != nil {
			emptied[s.claim]++
		}
		if s.fate == gone {
			ids = append(ids, s.id)
			continue
		}
		if err := t.giveBack(s.id); err != nil {
			return err
		}
	}
	slices.Sort(ids)
	for len(ids) > 0 {
		n := 1
		for n < len(ids) && ids[n] == ids[0]+int64(n) {
			n++
		}
		for _, sql := range []string{"DELETE FROM entry WHERE id BETWEEN ? AND ?", "DELETE FROM returned WHERE id BETWEEN ? AND ?"} {
			if _, err := t.exec(sql, ids[0], ids[n-1]); err != nil {
				return err
			}
		}
		ids = ids[n:]
	}
	for c, n := range emptied {
		if c.left == n {
			if _, err := t.exec("DELETE FROM claim WHERE consumer=? AND first=?", c.consumer, c.first); err != nil {
				return err
			}
		}
	}
	return nil
}

// giveBack returns an entry, if it still exists, to its queue.
func (t *tx) giveBack(id int64) error {
	_, err := t.exec(`INSERT INTO returned SELECT id, 0 FROM entry WHERE id=?
		ON CONFLICT(id) DO UPDATE SET holder=0`, id)
	t.wakes(id >> seqBits)
	return err
}

// claim takes up to room entries for a consumer: first what came back, in
// order, then what was never handed out.
func (t *tx) claim(k *consumer, room int) ([]taken, error) {
	q, err := t.find(k.queue.name)
	if err != nil {
		return nil, err
	}
	if q == nil || q.id != k.queue.id {
		return nil, noQueue("consume", k.queue.name)
	}
	room, err = t.share(k, q, room)
	if err != nil {
		return nil, err
	}
	got, err := t.claimReturned(k, q, room)
	if err != nil || len(got) == room {
		return got, err
	}
	fresh, err := t.claimFresh(k, q, room-len(got))
	return append(got, fresh...), err
}

// share leaves the other consumers of a queue their part of what is ready. It
// fails when this one has been taken for dead, or its claims would be nobody's.
func (t *tx) share(k *consumer, q *queue, room int) (int, error) {
	if _, listed, err := t.number("SELECT 1 FROM consumer WHERE id=?", k.id); err != nil || !listed {
		return 0, errors.Join(err, expelled(listed, q.name))
	}
	n, _, err := t.number("SELECT count(*) FROM consumer WHERE queue=?", q.id)
	if err != nil {
		return 0, err
	}
	ready, err := t.ready(q)
	if err != nil {
		return 0, err
	}
	part := (ready + int(n) - 1) / max(int(n), 1)
	return max(1, min(room, claimCount, part)), nil
}

const (
	entryColumns    = "SELECT e.id, e.due, e.exchange, e.key, e.properties, e.body FROM "
	returnedEntries = entryColumns + `returned r CROSS JOIN entry e ON e.id=r.id
		WHERE r.holder=0 AND r.id BETWEEN ? AND ? ORDER BY r.id LIMIT ?`
	freshEntries = entryColumns + "entry e WHERE e.id BETWEEN ? AND ? ORDER BY e.id LIMIT ?"
)

func (t *tx) claimReturned(k *consumer, q *queue, room int) ([]taken, error) {
	got, expired, err := t.gather(nil, returnedEntries, q.first(), q.last(), int64(room))
	if err != nil {
		return nil, err
	}
	for i := range got {
		got[i].d.Redelivered = true
		if _, err := t.exec("UPDATE returned SET holder=? WHERE id=?", k.id, got[i].id); err != nil {
			return nil, err
		}
	}
	return got, t.expire(expired)
}

func (t *tx) claimFresh(k *consumer, q *queue, room int) ([]taken, error) {
	c := &claim{consumer: k.id, first: q.first() | (q.cursor + 1)}
	got, expired, err := t.gather(c, freshEntries, c.first, q.first()|q.tail, int64(room))
	if err != nil || c.last == 0 {
		return nil, err
	}
	if err := t.expire(expired); err != nil {
		return nil, err
	}
	if _, err := t.exec("UPDATE queue SET cursor=? WHERE id=?", c.last&(1<<seqBits-1), q.id); err != nil {
		return nil, err
	}
	if c.left = len(got); c.left == 0 {
		return nil, nil
	}
	_, err = t.exec("INSERT INTO claim VALUES(?,?,?)", k.id, c.first, c.last)
	return got, err
}

// gather reads entries for claim c, telling live ones from those whose time is over.
func (t *tx) gather(c *claim, sql string, args ...driver.Value) (live []taken, expired []int64, err error) {
	now, bytes := t.c.clock.now(), 0
	err = t.query(sql, func(row []driver.Value) error {
		id := row[0].(int64)
		if c != nil {
			c.last = id
		}
		if due, ok := row[1].(int64); ok && due <= now {
			expired = append(expired, id)
			return nil
		}
		d := &broker.Delivery{Publishing: broker.Publishing{Exchange: row[2].(string), Key: row[3].(string)}}
		properties, _ := row[4].([]byte)
		if err := decodeProperties(properties, &d.Publishing); err != nil {
			t.c.log.Warn("stored properties are damaged, delivered without", "exchange", d.Exchange, "topic", d.Key)
		}
		d.Body, _ = row[5].([]byte)
		live = append(live, taken{held{id, c}, d})
		if bytes += len(d.Body); bytes >= claimBytes {
			return errEnough
		}
		return nil
	}, args...)
	return live, expired, err
}

func (t *tx) expire(ids []int64) error {
	for _, id := range ids {
		for _, sql := range []string{"DELETE FROM entry WHERE id=?", "DELETE FROM returned WHERE id=?"} {
			if _, err := t.exec(sql, id); err != nil {
				return err
			}
		}
	}
	return nil
}
