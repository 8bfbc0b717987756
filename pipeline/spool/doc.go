// Package spool is the bridge between the messages of any AMQP exchange and files in a directory
// (sr_spool(1)). It knows brokers and files, and not what a message means.
//
//	Spool     a directory of messages, one file each
//	Body      the file NAME: the bytes of a message as they are
//	Meta      the file NAME.meta: exchange, routing key, properties and headers of that message
//	Order     the third part of a name: what shares it goes out in the order of its names
//	Segment   a file of many messages, one a line, compressed in members that each stand alone
//
// In all directions a message is in a durable place before it is given up in the other: files are
// synced and named before a delivery is acknowledged, and a file is removed once the broker has
// confirmed what was published. What is cut off in between comes again.
package spool

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"srpump/pump/broker"
	"srpump/pump/config"
)

// A Host is what a spool gets of the process it runs in.
type Host struct {
	Log *slog.Logger
	Cwd string // absolute; relative directories are below it
	Now func() time.Time
	// Stdin is the segment called -.
	Stdin io.Reader
	// Instant reads a time as people write it, or a duration before now.
	Instant func(word string) (time.Time, error)
	// Open connects to the broker of an option: broker or post_broker. With once the first failure is
	// final; else the connection is looked after until it is closed.
	Open func(ctx context.Context, option string, once bool) (broker.Conn, error)
	// Ready is called when everything is open.
	Ready func()
}

// A Spooler moves messages in one direction. It opens nothing before it runs.
type Spooler struct {
	host     Host
	set      settings
	counters counters
}

// counters may be read at any time.
type counters struct {
	received  atomic.Int64 // deliveries and files taken in
	done      atomic.Int64 // of these spooled, published, saved or restored
	duplicate atomic.Int64 // of these there already
	failed    atomic.Int64 // set aside
	bytes     atomic.Int64 // of bodies done
	held      atomic.Int64 // files kept because nobody takes them
}

// ErrSome is a run that went through but not all of it.
var ErrSome = errors.New("not every message could be handed over")

// New reads the configuration of a spool. paths are the segments to restore.
func New(c *config.Config, h Host, paths []string) (*Spooler, error) {
	set, err := read(c, h, paths)
	if err != nil {
		return nil, err
	}
	return &Spooler{host: h, set: set}, nil
}

// Run works until ctx ends or, with the option once, until nothing is left to do.
func (s *Spooler) Run(ctx context.Context) error {
	if s.set.direction != "restore" {
		lock, err := lockDir(s.set.dir)
		if err != nil {
			return err
		}
		defer lock.Close()
	}
	err := error(nil)
	switch s.set.direction {
	case "in":
		err = s.in(ctx)
	case "out":
		err = s.out(ctx)
	case "save":
		err = s.save(ctx)
	case "restore":
		err = s.restore(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil
	}
	s.host.Log.Info("spool ended", "direction", s.set.direction, "directory", s.set.dir, "done", s.counters.done.Load(),
		"duplicates", s.counters.duplicate.Load(), "failed", s.counters.failed.Load())
	return err
}

// InHand is how many messages were taken and not yet handed over.
func (s *Spooler) InHand() (n int, oldest time.Time) {
	c := &s.counters
	return int(max(0, c.received.Load()-c.done.Load()-c.duplicate.Load()-c.failed.Load())), time.Time{}
}

// Retries is how many files wait for somebody to take their messages.
func (s *Spooler) Retries() int { return int(s.counters.held.Load()) }

// Count is what happened since the start.
func (s *Spooler) Count() map[string]int64 {
	c := &s.counters
	return map[string]int64{"received": c.received.Load(), "spooled": c.done.Load(), "duplicates": c.duplicate.Load(),
		"failed": c.failed.Load(), "bytes": c.bytes.Load()}
}
