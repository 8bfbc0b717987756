package spool

import (
	"context"
	"errors"
	"fmt"

	"srpump/pump/broker"
)

// Declare makes the queue and the exchange, as far as the options ask for that. It connects once and
// fails with a *broker.Error.
func (s *Spooler) Declare(ctx context.Context) error {
	return s.arrange(ctx, func(conn broker.Conn) error { return s.declare(ctx, conn) })
}

// Setup is Declare, and binds the queue.
func (s *Spooler) Setup(ctx context.Context) error {
	return s.arrange(ctx, func(conn broker.Conn) error { return errors.Join(s.declare(ctx, conn), s.bind(ctx, conn)) })
}

// Cleanup deletes the queue with what waits in it, unless it is only joined (declare_queue off). Exchanges are
// others' as well, and stay.
func (s *Spooler) Cleanup(ctx context.Context) error {
	if s.set.queue.Name == "" || !s.set.declare.queue {
		return nil
	}
	return s.arrange(ctx, func(conn broker.Conn) error {
		waiting, err := conn.DeclareQueue(ctx, broker.Queue{Name: s.set.queue.Name, Passive: true})
		if errors.Is(err, broker.ErrNotFound) {
			return nil
		}
		if err == nil {
			err = conn.DeleteQueue(ctx, s.set.queue.Name)
		}
		if err == nil {
			s.host.Log.Info("deleted", "queue", s.set.queue.Name, "waiting", waiting)
		}
		return err
	})
}

// arrange does something at the broker the messages come from, or go to.
func (s *Spooler) arrange(ctx context.Context, do func(broker.Conn) error) error {
	option := s.set.to
	if s.set.queue.Name != "" {
		option = "broker"
	}
	conn, err := s.host.Open(ctx, option, true)
	if err != nil {
		return err
	}
	return errors.Join(do(conn), conn.Close())
}

// declare makes what the options ask for. An exchange the broker does not let it make may be there all the same.
func (s *Spooler) declare(ctx context.Context, conn broker.Conn) error {
	if s.set.declare.exchange && s.set.exchange.Name != "" {
		err := conn.DeclareExchange(ctx, s.set.exchange)
		if errors.Is(err, broker.ErrRefused) {
			s.host.Log.Debug("exchange not declared", "exchange", s.set.exchange.Name, "error", err)
		} else if err != nil {
			return err
		}
	}
	if s.set.declare.queue && s.set.queue.Name != "" {
		if _, err := conn.DeclareQueue(ctx, s.set.queue); err != nil {
			return err
		}
	}
	return nil
}

func (s *Spooler) bind(ctx context.Context, conn broker.Conn) error {
	if !s.set.declare.bind {
		return nil
	}
	for _, b := range s.set.bindings {
		if err := conn.Bind(ctx, b); err != nil {
			return fmt.Errorf("cannot bind %q to %q: %w", b.Pattern, b.Exchange, err)
		}
	}
	return nil
}
