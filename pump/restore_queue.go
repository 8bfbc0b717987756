package pump

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"srpump/pump/broker"
	"srpump/pump/config"
)

// detoured is the route to one queue alone, past everybody else who is bound: an exchange of this
// run's own, named as v02 did (sr_options(5), restore_to_queue).
func detoured(c *config.Config, r route) route {
	name := r.exchange
	if name == "" {
		name = r.received[0]
	}
	return route{exchange: fmt.Sprintf("%s.%s.%s.restore.%08d", name, c.Preset.Program(), c.Name, rand.IntN(1e8))}
}

// openDetour makes the exchange and binds the queue to it. The exchange goes with what leave does,
// and after a kill with the queue's binding or the broker.
func openDetour(ctx context.Context, conn broker.Conn, r route, queue string, log *slog.Logger) (leave func(context.Context) error, err error) {
	name := r.exchange
	if err := conn.DeclareExchange(ctx, broker.Exchange{Name: name, Transient: true, AutoDelete: true}); err != nil {
		return nil, err
	}
	leave = func(ctx context.Context) error { return conn.DeleteExchange(ctx, name, false) }
	if err := conn.Bind(ctx, broker.Binding{Queue: queue, Exchange: name, Pattern: "#"}); err != nil {
		return nil, errors.Join(err, leave(ctx))
	}
	log.Info("announcing to one queue", "queue", queue, "exchange", name)
	return leave, nil
}
