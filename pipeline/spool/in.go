package spool

import (
	"context"
	"errors"
	"io"

	"srpump/pump/broker"
)

// in turns what comes through a queue into files.
func (s *Spooler) in(ctx context.Context) error {
	st, err := openStore(s.set.dir, s.host.Now)
	if err != nil {
		return err
	}
	from, err := s.openIntake(ctx)
	if err != nil {
		return err
	}
	s.host.Log.Info("spooling", "direction", "in", "queue", s.set.queue.Name, "directory", s.set.dir)
	s.host.Ready()
	err = s.fill(ctx, from, st)
	return errors.Join(err, from.close())
}

// fill ends with the context, or when there is nothing left to take.
func (s *Spooler) fill(ctx context.Context, from *intake, st *store) error {
	recalled := false
	for {
		batch, err := from.batch(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if !recalled && comesAgain(batch) {
			if err := st.recall(); err != nil {
				return err
			}
			recalled = true
		}
		if err := s.spool(ctx, st, batch); err != nil {
			return err
		}
		if err := from.ack(batch); err != nil {
			return err
		}
	}
}

// comesAgain tells a batch some of which may be there from before.
func comesAgain(batch []*broker.Delivery) bool {
	for _, d := range batch {
		if d.Redelivered || d.MessageID != "" {
			return true
		}
	}
	return false
}

// spool writes a batch, again and again while the disk is full or failing.
func (s *Spooler) spool(ctx context.Context, st *store, batch []*broker.Delivery) error {
	files, err := s.prepare(st, batch)
	if err != nil {
		return err
	}
	err = s.persist(ctx, func() error { return st.write(files) })
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.dup {
			s.counters.duplicate.Add(1)
			s.host.Log.Info("spooled already", "file", f.name)
			continue
		}
		s.counters.done.Add(1)
		s.counters.bytes.Add(int64(len(f.body)))
		s.host.Log.Info("spooled", "file", f.name, "bytes", len(f.body))
	}
	return nil
}

// prepare names a batch; what stands twice in it is one file.
func (s *Spooler) prepare(st *store, batch []*broker.Delivery) ([]*filed, error) {
	files, within := make([]*filed, 0, len(batch)), make(map[digest]string)
	for _, d := range batch {
		f, err := st.prepare(d)
		if err != nil {
			return nil, err
		}
		if name, twice := within[f.sum]; twice && !f.dup && (d.Redelivered || d.MessageID != "") {
			f.name, f.dup = name, true
		}
		within[f.sum] = f.name
		files = append(files, f)
	}
	return files, nil
}
