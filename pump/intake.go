package pump

import (
	"context"
	"errors"
	"slices"

	"srpump/pump/broker"
)

// consume starts what the flow is fed from: with the option vip when this host has the address.
func (f *Flow) consume(ctx context.Context) (err error) {
	if f.plan.vip == "" || f.plan.from.isPipe() {
		f.consumer, err = f.openConsumer(ctx)
		return err
	}
	f.standby = newStandby(f)
	f.consumer = f.standby
	if err := f.standby.look(ctx); err != nil { // so that a broker's refusal is known at the start
		return err
	}
	if f.standby.waiting() {
		f.settled = true // reset is for the start: what waits later is what another host has left
	}
	f.standby.start()
	return nil
}

// openConsumer makes one consumer of all queues there are.
func (f *Flow) openConsumer(ctx context.Context) (broker.Consumer, error) {
	parts, err := f.openParts(ctx)
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return newSpread(parts), nil
}

// openParts starts a consumer on each queue; they share what the flow may have in hand.
func (f *Flow) openParts(ctx context.Context) (parts []broker.Consumer, err error) {
	queues, asked, err := f.prepareQueues(ctx)
	if err != nil {
		return nil, err
	}
	o := broker.ConsumeOptions{Prefetch: max(1, f.plan.prefetch/len(queues)), Name: f.cfg.Preset.Program() + "." + f.cfg.Name}
	for i, name := range queues {
		k, err := f.in.Consume(ctx, name, o)
		if err != nil {
			return nil, errors.Join(err, closeAll(parts))
		}
		if i >= asked {
			k = leftover{k}
		}
		parts = append(parts, k)
	}
	return parts, nil
}

// A leftover consumes a queue of another number of instances. Nobody asks for it any more: that it
// expired, or somebody deleted it, is its end and not that of the flow.
type leftover struct{ broker.Consumer }

// Next implements broker.Consumer.
func (l leftover) Next(ctx context.Context) (*broker.Delivery, error) {
	d, err := l.Consumer.Next(ctx)
	if errors.Is(err, broker.ErrNotFound) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return d, err
}

func closeAll(parts []broker.Consumer) error {
	var errs []error
	for _, k := range parts {
		errs = append(errs, k.Close())
	}
	return errors.Join(errs...)
}

// prepareQueues declares and binds the queues and returns their names: first those the configuration
// asks for, how many of which asked is, then what is left of an earlier one. All are declared before any is
// bound: shards whose names v02 made one are one queue, and reset empties it once.
func (f *Flow) prepareQueues(ctx context.Context) (names []string, asked int, err error) {
	if f.plan.from.isPipe() {
		return []string{pipeURL}, 1, nil
	}
	inlets := newInlets(f.cfg, f.host, f.plan.from)
	all := make([]string, len(inlets))
	for i, q := range inlets {
		q.keep = f.settled
		if all[i], err = q.name(); err != nil {
			return nil, 0, err
		}
		if err := q.declare(ctx, f.in, all[i]); err != nil {
			return nil, 0, err
		}
	}
	for i, q := range inlets {
		if err := q.bind(ctx, f.in, all[i]); err != nil {
			return nil, 0, err
		}
	}
	f.settled = true
	for _, name := range all {
		if !slices.Contains(names, name) {
			names = append(names, name)
			f.host.Log.Info("consuming", "broker", f.plan.from, "queue", name)
		}
	}
	left, err := f.leftQueues(ctx, names)
	return append(names, left...), len(names), err
}

// leftQueues are those of another number of instances: what waits in them is not lost.
func (f *Flow) leftQueues(ctx context.Context, now []string) (names []string, err error) {
	left, err := leftInlets(f.cfg, f.host, f.plan.from)
	if err != nil {
		return nil, err
	}
	for _, q := range left {
		if name, err := q.remembered(); err == nil && slices.Contains(now, name) {
			continue
		}
		name, err := q.readOn(ctx, f.in)
		if err != nil {
			return nil, err
		}
		if name != "" {
			names = append(names, name)
			f.host.Log.Info("reading what is left", "broker", f.plan.from, "queue", name)
		}
	}
	return names, nil
}

// readOn unbinds a queue of another number of instances, and returns its name when there is something
// to read: one that has gone is forgotten, one the broker no longer gives is somebody else's.
func (q *inlet) readOn(ctx context.Context, conn broker.Conn) (name string, err error) {
	if name, err = q.remembered(); name == "" || err != nil {
		return "", err
	}
	_, err = conn.DeclareQueue(ctx, broker.Queue{Name: name, Passive: true})
	switch {
	case errors.Is(err, broker.ErrNotFound):
		return "", errors.Join(q.forget(), q.forgetName())
	case errors.Is(err, broker.ErrRefused), errors.Is(err, broker.ErrLocked):
		return "", nil
	case err != nil:
		return "", err
	}
	return name, q.release(ctx, conn, name)
}
