package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"srpump/pump/broker"
)

// An archive is a directory of segments. One process has it at a time.
type archive struct {
	*Spooler
	open *segment  // nil until there is something to add
	last time.Time // of the youngest name
	tell *teller
}

// save adds what comes through a queue to segments.
func (s *Spooler) save(ctx context.Context) (err error) {
	a := &archive{Spooler: s}
	if a.tell, err = s.newTeller(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.tell.close()) }()
	if err := a.recover(ctx); err != nil {
		return err
	}
	from, err := s.openIntake(ctx)
	if err != nil {
		return err
	}
	s.host.Log.Info("spooling", "direction", "save", "queue", s.set.queue.Name, "directory", s.set.dir)
	s.host.Ready()
	err = a.fill(ctx, from)
	if a.open != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
		defer cancel()
		err = errors.Join(err, a.seal(last))
	}
	return errors.Join(err, from.close())
}

// recover seals what a kill has left open, and announces what is sealed and was not announced.
func (a *archive) recover(ctx context.Context) error {
	sealed, open, err := segments(a.set.dir)
	if err != nil {
		return err
	}
	for _, path := range open {
		whole, cut, err := mend(path)
		if err != nil {
			return fmt.Errorf("cannot mend %q: %w", path, cause(err))
		}
		name, err := seal(path, whole)
		if err != nil {
			return err
		}
		a.host.Log.Warn("segment mended", "file", sealedName(path), "bytes", whole, "cut", cut)
		if name != "" {
			sealed = append(sealed, name)
		}
	}
	for _, name := range sealed {
		if t, _ := segmentStart(name); t.After(a.last) {
			a.last = t
		}
	}
	return a.tell.all(ctx, sealed)
}

// fill ends with the context, or when there is nothing left to take.
func (a *archive) fill(ctx context.Context, from *intake) error {
	for {
		batch, err := a.batch(ctx, from)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			if err := a.seal(ctx); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		if err := a.add(ctx, batch); err != nil {
			return err
		}
		if err := from.ack(batch); err != nil {
			return err
		}
		if a.open.size >= a.set.segmentSize || !a.host.Now().Before(a.open.since.Add(a.set.segmentAge)) {
			if err := a.seal(ctx); err != nil {
				return err
			}
		}
	}
}

// batch waits no longer than the open segment may grow old.
func (a *archive) batch(ctx context.Context, from *intake) ([]*broker.Delivery, error) {
	if a.open == nil {
		return from.batch(ctx)
	}
	until, cancel := context.WithTimeout(ctx, a.open.since.Add(a.set.segmentAge).Sub(a.host.Now()))
	defer cancel()
	return from.batch(until)
}

// add makes a batch durable, again and again while the disk is full or failing.
func (a *archive) add(ctx context.Context, batch []*broker.Delivery) error {
	lines, size := make([][]byte, len(batch)), int64(0)
	for i, d := range batch {
		var err error
		if lines[i], err = encodeLine(d, a.host.Now()); err != nil {
			return fmt.Errorf("cannot write a message: %w", err)
		}
		size += int64(len(d.Body))
	}
	err := a.persist(ctx, func() (err error) {
		if a.open == nil {
			if a.open, err = newSegment(a.set.dir, a.host.Now(), a.last); err != nil {
				a.open = nil
				return err
			}
			a.last = a.open.since
		}
		return a.open.add(lines)
	})
	if err != nil {
		return err
	}
	a.counters.done.Add(int64(len(batch)))
	a.counters.bytes.Add(size)
	a.host.Log.Debug("saved", "count", len(batch), "segment", a.open.path)
	return nil
}

// seal makes the open segment visible, and announces it.
func (a *archive) seal(ctx context.Context) error {
	g := a.open
	a.open = nil
	name, err := g.seal()
	if err != nil || name == "" {
		return err
	}
	a.host.Log.Info("segment sealed", "file", name, "messages", g.lines, "bytes", g.size)
	return a.tell.all(ctx, []string{name})
}
