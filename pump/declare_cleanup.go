package pump

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"srpump/pump/broker"
	"srpump/pump/config"
)

// Cleanup takes away what a configuration has on the broker and on disk: its queue with what waits in
// it, the exchange it posts to when nobody is bound to it, the temporary files of what is unfinished, and its state directory. Whoever calls
// it holds the lock of that directory, so that no flow is running on it. It connects once; the state goes last, so
// that what failed can be done again.
func Cleanup(ctx context.Context, c *config.Config, h *Host) error {
	err := arrange(ctx, c, h, func(g *footing) error {
		return errors.Join(g.deleteQueues(ctx), g.deleteExchanges(ctx))
	})
	if err != nil {
		return err
	}
	if err := removeUnfinished(c, h); err != nil {
		return fmt.Errorf("cannot remove what is unfinished: %w", err)
	}
	dir := c.State().Dir()
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("cannot remove state: %w", err)
	}
	h.Log.Info("deleted", "directory", dir)
	return nil
}

// deleteQueues leaves queues that the configuration only joins (declare_queue off).
func (g *footing) deleteQueues(ctx context.Context) error {
	if !g.cfg.Values.Bool("declare_queue") {
		return nil
	}
	var errs []error
	for _, q := range slices.Concat(g.in, g.left) {
		errs = append(errs, g.deleteQueue(ctx, q))
	}
	return errors.Join(errs...)
}

// deleteQueue leaves a queue whose name was made up and is not remembered: it cannot be told from another's.
func (g *footing) deleteQueue(ctx context.Context, q *inlet) error {
	name, err := q.known()
	if name == "" || err != nil {
		return err
	}
	conn, err := g.conn(ctx, q.from)
	if err != nil {
		return err
	}
	ready, err := conn.DeclareQueue(ctx, broker.Queue{Name: name, Passive: true})
	if errors.Is(err, broker.ErrNotFound) {
		return nil
	}
	if err := errors.Join(err, q.drop(ctx, conn, name)); err != nil {
		return err
	}
	g.host.Log.Info("deleted", "queue", name, "broker", q.from, "waiting", ready)
	return nil
}

// known is the name of the queue as far as it is sure.
func (q *inlet) known() (string, error) {
	name, err := q.remembered()
	if name != "" || err != nil {
		return name, err
	}
	if name = q.configured(); name != "" {
		return name, nil
	}
	if q.cfg.Preset&randomNames != 0 {
		return "", nil
	}
	return q.generate(), nil
}

// keptExchange tells those that are the pump's own: others rely on them though nothing may be bound at the moment.
func keptExchange(name string) bool {
	return slices.Contains([]string{"", "xpublic", "xreport", "xs_mqtt_public"}, name) ||
		strings.HasPrefix(name, "xwinnow") || strings.HasPrefix(name, "amq.")
}

// deleteExchanges leaves those the announcements bring along: they are not this configuration's.
func (g *footing) deleteExchanges(ctx context.Context) error {
	if g.route.follows() || g.to.isPipe() || !g.cfg.Values.Bool("declare_exchange") {
		return nil
	}
	var errs []error
	for _, x := range g.route.exchanges() {
		if !keptExchange(x) {
			errs = append(errs, g.deleteExchange(ctx, x))
		}
	}
	return errors.Join(errs...)
}

func (g *footing) deleteExchange(ctx context.Context, exchange string) error {
	conn, err := g.conn(ctx, g.to)
	if err != nil {
		return err
	}
	err = conn.DeleteExchange(ctx, exchange, true)
	if errors.Is(err, broker.ErrPrecondition) {
		g.host.Log.Info("exchange left, queues are bound to it", "exchange", exchange, "broker", g.to)
		return nil
	}
	if err == nil {
		g.host.Log.Info("deleted", "exchange", exchange, "broker", g.to)
	}
	return err
}
