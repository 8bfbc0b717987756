package spool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"srpump/pump/broker"
)

// What is published and not yet confirmed, at most.
const (
	outWindow = 500      // messages
	outBytes  = 64 << 20 // of bodies; a larger one goes alone
)

// relook is how often the directory is read without anything having been noticed there.
const relook = 5 * time.Second

// A sender publishes an outbox. All but the confirms happens in one goroutine.
type sender struct {
	*Spooler
	box     *outbox
	conn    broker.Conn
	pub     broker.Publisher
	results chan result
	ready   []*letter // may be published, as soon as there is room
	open    int       // unconfirmed
	bytes   int64     // of these
	gone    int       // removed since the directory was synced
}

// A result is what became of one file.
type result struct {
	l    *letter
	size int64
	err  error
}

// out turns files into messages: published, confirmed, and only then removed.
func (s *Spooler) out(ctx context.Context) (err error) {
	changes, err := fsnotify.NewWatcher()
	if err == nil {
		defer changes.Close()
		err = changes.Add(s.set.dir)
	}
	if err != nil {
		return fmt.Errorf("cannot watch %q: %w", s.set.dir, err)
	}
	o := &sender{Spooler: s, box: newOutbox(&s.set, s.host.Now), results: make(chan result, outWindow)}
	if o.conn, err = s.host.Open(ctx, s.set.to, false); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.conn.Close()) }()
	if err := s.declare(ctx, o.conn); err != nil {
		return err
	}
	if o.pub, err = o.conn.Publisher(ctx, broker.PublishOptions{Window: outWindow}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.pub.Close()) }()
	s.host.Log.Info("spooling", "direction", "out", "exchange", s.set.publish.Exchange, "directory", s.set.dir)
	s.host.Ready()
	return o.run(ctx, changes)
}

// run publishes until ctx ends, or with once until nothing is left that somebody takes.
func (o *sender) run(ctx context.Context, changes *fsnotify.Watcher) error {
	var wake time.Time // for what has not settled
	looked, timer := false, time.NewTimer(0)
	defer timer.Stop()
	for {
		if !looked && len(o.box.queue) == 0 {
			again, err := o.box.look()
			if err != nil {
				return err
			}
			looked, wake = true, again
		}
		next, err := o.send(ctx)
		switch {
		case ctx.Err() != nil:
			return o.finish()
		case err != nil:
			return err
		}
		if o.set.once && o.open == 0 && wake.IsZero() && len(o.ready)+len(o.box.queue) == 0 {
			return o.left()
		}
		timer.Reset(o.until(wake, next))
		select {
		case r := <-o.results:
			if err := o.settleAll(r); err != nil {
				return err
			}
		case e := <-changes.Events:
			looked = looked && !e.Has(fsnotify.Create|fsnotify.Write)
		case <-changes.Errors: // some were lost
			looked = false
		case <-timer.C:
			looked = false
		case <-ctx.Done():
			return o.finish()
		}
	}
}

// until is how long nothing has to be done unless something happens.
func (o *sender) until(times ...time.Time) time.Duration {
	wait := relook
	for _, t := range times {
		if !t.IsZero() {
			wait = min(wait, max(0, t.Sub(o.host.Now())))
		}
	}
	return wait
}

// send publishes what may go, as far as there is room. It returns when a pause ends.
func (o *sender) send(ctx context.Context) (next time.Time, err error) {
	due, next := o.box.due()
	o.ready = append(due, o.ready...)
	for o.open < outWindow && (o.open == 0 || o.bytes < outBytes) {
		var l *letter
		if len(o.ready) > 0 {
			l, o.ready = o.ready[0], o.ready[1:]
		} else if l = o.box.next(); l == nil {
			break
		}
		if err := o.publish(ctx, l); err != nil {
			return next, err
		}
	}
	o.counters.held.Store(int64(o.box.held()))
	return next, nil
}

// publish sends one file, or does away with one that can never be sent.
func (o *sender) publish(ctx context.Context, l *letter) error {
	p, err := o.box.load(l)
	switch {
	case errors.Is(err, fs.ErrNotExist): // somebody took it back
		o.after(l)
		return nil
	case errors.As(err, new(broken)):
		o.counters.received.Add(1)
		o.reject(l, err)
		return nil
	case err != nil:
		o.keep(l, err)
		return nil
	}
	size := int64(len(p.Body))
	err = o.pub.Publish(ctx, p, func(err error) { o.results <- result{l, size, err} })
	if err != nil {
		return err
	}
	o.counters.received.Add(1)
	o.open++
	o.bytes += size
	return nil
}

// after lets what was behind a file of its order go.
func (o *sender) after(l *letter) {
	if next := o.box.ended(l); next != nil {
		o.ready = append(o.ready, next)
	}
}

// settleAll ends one publishing, and all others that have come to their end.
func (o *sender) settleAll(r result) error {
	for {
		if err := o.settle(r); err != nil {
			return err
		}
		if len(o.results) == 0 {
			break
		}
		r = <-o.results
	}
	if o.open == 0 || o.gone >= outWindow {
		o.syncRemoved()
	}
	return nil
}

// settle ends one publishing.
func (o *sender) settle(r result) error {
	o.open--
	o.bytes -= r.size
	switch {
	case r.err == nil:
		return o.published(r)
	case errors.Is(r.err, broker.ErrClosed):
		return nil // it goes again at the next start
	case errors.Is(r.err, broker.ErrMessage):
		o.reject(r.l, r.err)
		return nil
	}
	o.counters.received.Add(-1)
	o.keep(r.l, r.err)
	return nil
}

// keep leaves a file where it is, and what is behind it in its order, and tries again after a while.
func (o *sender) keep(l *letter, why error) {
	if o.box.refused(l) {
		o.host.Log.Warn("not published, kept", "file", l.name, "error", why, "hint", broker.Hint(why))
	}
}

func (o *sender) published(r result) error {
	if err := o.box.remove(r.l); err != nil {
		return fmt.Errorf("cannot remove %q, which was published: %w", r.l.name, cause(err))
	}
	o.gone++
	o.counters.done.Add(1)
	o.counters.bytes.Add(r.size)
	o.host.Log.Info("published", "file", r.l.name, "bytes", r.size)
	o.after(r.l)
	return nil
}

// reject moves a file that can never be published out of the way of those behind it.
func (o *sender) reject(l *letter, why error) {
	if err := SetAside(o.set.dir, l.name, filepath.Join(o.set.dir, failedName), why); err != nil {
		o.counters.received.Add(-1)
		o.keep(l, fmt.Errorf("%w; cannot set it aside: %w", why, cause(err)))
		return
	}
	o.counters.failed.Add(1)
	o.host.Log.Error("set aside", "file", l.name, "error", why)
	o.after(l)
}

// syncRemoved keeps what was published from coming back after a power cut. It is a matter of
// duplicates only.
func (o *sender) syncRemoved() {
	if o.gone == 0 {
		return
	}
	if err := SyncDir(o.set.dir); err != nil {
		o.host.Log.Warn("directory not synced", "directory", o.set.dir, "error", err)
	}
	o.gone = 0
}

// closePatience is how long the confirms of what is under way are waited for at the end.
const closePatience = 5 * time.Second

// finish waits for what is under way, so that it is not published twice.
func (o *sender) finish() error {
	limit := time.After(closePatience)
	for o.open > 0 {
		select {
		case r := <-o.results:
			if err := o.settle(r); err != nil {
				return err
			}
		case <-limit:
			return nil
		}
	}
	o.syncRemoved()
	return nil
}

// left says what a run that looks only once could not do.
func (o *sender) left() error {
	if held, failed := o.box.held(), o.counters.failed.Load(); held > 0 || failed > 0 {
		return fmt.Errorf("%w: of %q %d are kept and %d were moved to %s", ErrSome, o.set.dir, held, failed, failedName)
	}
	return nil
}
