package sqlite

import (
	"database/sql/driver"

	"golang.org/x/sys/unix"
)

// A topology is what the file says of exchanges, queues and who listens, as of
// one generation. It is read again when the generation has moved.
type topology struct {
	generation int64
	exchanges  map[string][]route
	queues     map[int64]*target
	names      map[string]*target
	ropes      map[string]int // bells kept open, by name
}

// A route is one binding.
type route struct {
	pattern string
	target  *target
}

// A target is a queue as a publisher needs to know it.
type target struct {
	id      int64
	name    string
	ttl     int64 // milliseconds; 0 for never
	maximum int64 // entries that may wait
	bells   []string
}

// refresh reads the topology again if it has changed. Called within a transaction.
func (t *topology) refresh(d *database) error {
	g, _, err := d.number("SELECT generation FROM state")
	if err != nil || g == t.generation {
		return err
	}
	fresh := topology{
		exchanges: map[string][]route{}, queues: map[int64]*target{}, names: map[string]*target{},
	}
	if err := fresh.load(d); err != nil {
		return err
	}
	fresh.generation = g
	fresh.ropes = t.ropes
	fresh.letGo()
	*t = fresh
	return nil
}

func (t *topology) load(d *database) error {
	err := d.query("SELECT id, name, ttl, maximum FROM queue", func(row []driver.Value) error {
		q := &target{id: row[0].(int64), name: row[1].(string), ttl: row[2].(int64), maximum: row[3].(int64)}
		t.queues[q.id], t.names[q.name] = q, q
		return nil
	})
	if err != nil {
		return err
	}
	err = d.query("SELECT name FROM exchange", func(row []driver.Value) error {
		t.exchanges[row[0].(string)] = nil
		return nil
	})
	if err != nil {
		return err
	}
	err = d.query("SELECT exchange, queue, pattern FROM binding ORDER BY exchange, queue", func(row []driver.Value) error {
		x := row[0].(string)
		t.exchanges[x] = append(t.exchanges[x], route{row[2].(string), t.queues[row[1].(int64)]})
		return nil
	})
	if err != nil {
		return err
	}
	return d.query("SELECT DISTINCT c.queue, s.bell FROM consumer c JOIN session s ON s.id=c.session", func(row []driver.Value) error {
		if q := t.queues[row[0].(int64)]; q != nil {
			q.bells = append(q.bells, row[1].(string))
		}
		return nil
	})
}

// route appends the queues a publishing goes to, each once. Routes of one
// queue lie together. known is false when there is no such exchange.
func (t *topology) route(exchange, key string, to []*target) (targets []*target, known bool) {
	if exchange == "" {
		if q := t.names[key]; q != nil {
			to = append(to, q)
		}
		return to, true
	}
	routes, known := t.exchanges[exchange]
	for _, r := range routes {
		if len(to) > 0 && to[len(to)-1] == r.target {
			continue
		}
		if matches(r.pattern, key) {
			to = append(to, r.target)
		}
	}
	return to, known
}

// wake rings the bells of the consumers of queues. A bell that is full rings
// already; one nobody hears belongs to the dead, whom the sweep buries.
func (t *topology) wake(c *conn, queues map[int64]bool) {
	if err := t.refresh(c.database); err != nil {
		c.log.Warn("cannot read topology", "path", c.path, "error", err)
		return
	}
	rung := map[string]bool{}
	for id := range queues {
		if q := t.queues[id]; q != nil {
			for _, bell := range q.bells {
				if !rung[bell] {
					rung[bell] = true
					t.pull(c.path+".d", bell)
				}
			}
		}
	}
}

func (t *topology) pull(dir, bell string) {
	fd, held := t.ropes[bell]
	if !held {
		var err error
		if fd, err = openBell(dir, bell); err != nil {
			return
		}
		if t.ropes == nil {
			t.ropes = map[string]int{}
		}
		t.ropes[bell] = fd
	}
	// EAGAIN and EPIPE are both fine, see wake.
	_, _ = unix.Write(fd, []byte{1})
}

// letGo closes the bells that no queue has any more.
func (t *topology) letGo() {
	wanted := map[string]bool{}
	for _, q := range t.queues {
		for _, b := range q.bells {
			wanted[b] = true
		}
	}
	for b, fd := range t.ropes {
		if !wanted[b] {
			unix.Close(fd)
			delete(t.ropes, b)
		}
	}
}

// silence closes every bell.
func (t *topology) silence() {
	for _, fd := range t.ropes {
		unix.Close(fd)
	}
	t.ropes = nil
}
