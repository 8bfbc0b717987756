package pump

import (
	"context"
	"errors"
	"fmt"

	"srpump/pump/broker"
	"srpump/pump/config"
)

// A footing is what brokers hold for one configuration: the queue it reads, the exchange it posts to.
type footing struct {
	cfg   *config.Config
	host  *Host
	in    *inlet // nil for posters
	to    endpoint
	route route // without exchanges when nothing is posted
	conns map[string]broker.Conn
}

// newFooting reads the configuration; nothing is opened.
func newFooting(c *config.Config, h *Host) (*footing, error) {
	g := &footing{cfg: c, host: h, conns: make(map[string]broker.Conn)}
	var err error
	if c.Preset&(config.Post|config.Watch|config.Poll) != 0 {
		if g.to, err = h.endpoint(c, "post_broker", true); err == nil {
			g.route, err = newRoute(c, g.to, g.to)
		}
		return g, err
	}
	p, err := newPlan(c, h)
	if err != nil {
		return nil, err
	}
	g.in = &inlet{cfg: c, host: h, from: p.from, shard: whole}
	if p.posting {
		g.to, g.route = p.to, p.route
	}
	return g, nil
}

// conn connects once, as somebody waits, and keeps the connection for who asks again.
func (g *footing) conn(ctx context.Context, e endpoint) (broker.Conn, error) {
	if c := g.conns[e.url]; c != nil {
		return c, nil
	}
	c, err := g.host.dial(ctx, e, g.cfg, broker.Options{Once: true})
	if err == nil {
		g.conns[e.url] = c
	}
	return c, err
}

func (g *footing) close() error {
	var errs []error
	for _, c := range g.conns {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Declare makes the queue and the exchange of a configuration, as far as its options ask for
// that. It connects once and fails with a *broker.Error.
func Declare(ctx context.Context, c *config.Config, h *Host) error {
	return arrange(ctx, c, h, func(g *footing) error {
		return errors.Join(g.declareExchange(ctx), g.declareReports(ctx), g.declareQueue(ctx, false))
	})
}

// Setup is Declare, and binds the queue; bindings of an earlier form of the configuration go.
func Setup(ctx context.Context, c *config.Config, h *Host) error {
	return arrange(ctx, c, h, func(g *footing) error {
		return errors.Join(g.declareExchange(ctx), g.declareReports(ctx), g.declareQueue(ctx, true))
	})
}

func arrange(ctx context.Context, c *config.Config, h *Host, do func(*footing) error) error {
	g, err := newFooting(c, h)
	if err != nil {
		return err
	}
	return errors.Join(do(g), g.close())
}

func (g *footing) declareExchange(ctx context.Context) error {
	if len(g.route.exchanges()) == 0 || g.to.isPipe() || !g.cfg.Values.Bool("declare_exchange") {
		return nil
	}
	conn, err := g.conn(ctx, g.to)
	if err != nil {
		return err
	}
	for _, x := range g.route.exchanges() {
		if err := conn.DeclareExchange(ctx, broker.Exchange{Name: x}); err != nil {
			return err
		}
		g.host.Log.Info("declared", "exchange", x, "broker", g.to)
	}
	return nil
}

// declareReports makes the exchange of reports, so that who reads them can bind to it before
// the first is published. A refusal is no failure, as reports are not.
func (g *footing) declareReports(ctx context.Context) error {
	if g.in == nil || !reportsWanted(g.cfg, g.in.from) || !g.cfg.Values.Bool("declare_exchange") {
		return nil
	}
	conn, err := g.conn(ctx, g.in.from)
	if err != nil {
		return err
	}
	return declareQuietly(ctx, conn, reportExchange(g.cfg, g.in.from))
}

func (g *footing) declareQueue(ctx context.Context, bind bool) error {
	if g.in == nil || g.in.from.isPipe() {
		return nil
	}
	conn, err := g.conn(ctx, g.in.from)
	if err != nil {
		return err
	}
	name, err := g.in.name()
	if err != nil {
		return err
	}
	if err := g.in.declare(ctx, conn, name); err != nil {
		return err
	}
	if g.cfg.Values.Bool("declare_queue") {
		g.host.Log.Info("declared", "queue", name, "broker", g.in.from)
	}
	if !bind || !g.cfg.Values.Bool("bind_queue") {
		return nil
	}
	if err := g.in.bind(ctx, conn, name); err != nil {
		return fmt.Errorf("cannot set up %q: %w", g.cfg.Name, err)
	}
	for _, b := range g.in.wanted() {
		g.host.Log.Info("bound", "queue", name, "exchange", b.Exchange, "topic", b.Pattern)
	}
	return nil
}
