// Package sqlite is the embedded broker: one database file shared by any
// number of processes of one machine. See package broker for the contract.
//
//	Entry      one publishing as it lies in one queue
//	Claim      a range of entries handed to a consumer and not yet settled
//	Returned   an entry that was handed out before and came back
//	Session    a connection that consumes or owns an exclusive queue; its
//	           bell, a FIFO it alone reads, is both how others wake it and
//	           how they see that it lives: the kernel closes it at death
//	Orphan     a deleted queue whose entries are not all gone yet
package sqlite

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"srpump/pump/broker"
)

// conn is one connection: a handle on the file, its topology as last seen,
// and the session and goroutines that consuming needs.
type conn struct {
	path    string
	options broker.Options
	log     *slog.Logger
	clock   clock
	journal journal

	mu sync.Mutex // guards the handle, the gate and the topology
	*database
	gate     gate
	topology topology
	ended    bool // the handle is closed

	life      context.Context // ends when Close begins
	die       context.CancelFunc
	closeOnce sync.Once
	closeErr  error
	work      sync.WaitGroup

	members   sync.Mutex // guards what Close must end
	consumers map[*consumer]bool
	senders   map[*publisher]bool
	session   *session
	self      atomic.Int64 // id of session, 0 for none
}

// Open opens, and if need be makes, the database rawURL names. Errors are
// *broker.Error: ErrRefused for a network file system or a newer format,
// ErrUnreachable for what cannot be opened, written or understood.
func Open(ctx context.Context, rawURL string, o broker.Options) (broker.Conn, error) {
	path, err := locate(rawURL)
	if err != nil {
		return nil, err
	}
	c, err := open(ctx, path, o, machine)
	if err != nil {
		return nil, err // not a nil *conn in the interface
	}
	return c, nil
}

func open(ctx context.Context, path string, o broker.Options, read func() reading) (*conn, error) {
	if err := prepare(path); err != nil {
		return nil, err
	}
	c := &conn{
		path: path, options: o, log: o.Logger,
		clock:     clock{read: read},
		journal:   journal{path: path},
		gate:      gate{path: path + ".d/gate"},
		consumers: map[*consumer]bool{}, senders: map[*publisher]bool{},
	}
	c.life, c.die = context.WithCancel(context.Background())
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if err := c.attach(ctx); err != nil {
		return nil, err
	}
	c.work.Go(c.housekeeping)
	return c, nil
}

// attach opens the handle and brings the schema and the clock up. Making the
// file a WAL database needs it alone, so the gate is held meanwhile.
func (c *conn) attach(ctx context.Context) (err error) {
	if err := c.gate.enter(ctx, c.life.Done()); err != nil {
		return explain(c.path, err)
	}
	c.database, err = openDatabase(c.path)
	if left := c.gate.leave(); err == nil {
		err = left
	}
	if err == nil {
		err = c.migrate(ctx)
	}
	if err == nil {
		err = c.startClock(ctx)
	}
	if err != nil {
		c.release()
		return explain(c.path, err)
	}
	return nil
}

// Close implements broker.Conn.
func (c *conn) Close() error {
	c.closeOnce.Do(func() {
		c.die()
		for _, p := range c.memberPublishers() {
			p.Close()
		}
		for _, k := range c.memberConsumers() {
			k.Close()
		}
		c.work.Wait()
		c.closeErr = c.endSession()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended = true
		c.release()
	})
	return c.closeErr
}

func (c *conn) release() {
	c.topology.silence()
	c.journal.close()
	if c.database != nil {
		if err := c.database.close(); err != nil {
			c.log.Warn("cannot close database", "path", c.path, "error", err)
		}
	}
	c.gate.close()
}

func (c *conn) memberPublishers() []*publisher {
	c.members.Lock()
	defer c.members.Unlock()
	var all []*publisher
	for p := range c.senders {
		all = append(all, p)
	}
	return all
}

func (c *conn) memberConsumers() []*consumer {
	c.members.Lock()
	defer c.members.Unlock()
	var all []*consumer
	for k := range c.consumers {
		all = append(all, k)
	}
	return all
}

func (c *conn) isClosing() bool { return c.life.Err() != nil }

// sweepEvery is how often dead consumers, time-outs and lost bells are looked for.
const sweepEvery = time.Second
