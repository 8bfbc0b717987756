package pump

import (
	"context"
	"errors"
	"fmt"

	"srpump/pump/broker"
	"srpump/pump/config"
)

// A footing is what brokers hold for one configuration: the queues it reads, the exchange it posts to.
type footing struct {
	cfg   *config.Config
	host  *Host
	in    []*inlet // none for posters and pipes
	left  []*inlet // read with another number of instances
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
	if p.posting {
		g.to, g.route = p.to, p.route
	}
	if p.from.isPipe() {
		return g, nil
	}
	g.in = newInlets(c, h, p.from)
	for _, q := range g.in {
		q.keep = true // a flow may be reading it
	}
	g.left, err = leftInlets(c, h, p.from)
	return g, err
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
		return errors.Join(g.declareExchange(ctx), g.declareReports(ctx), g.declareQueues(ctx, false))
	})
}

// Setup is Declare, and binds the queue; bindings of an earlier form of the configuration go.
func Setup(ctx context.Context, c *config.Config, h *Host) error {
	return arrange(ctx, c, h, func(g *footing) error {
		return errors.Join(g.declareExchange(ctx), g.declareReports(ctx), g.declareQueues(ctx, true))
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
	if len(g.in) == 0 || !reportsWanted(g.cfg, g.in[0].from) || !g.cfg.Values.Bool("declare_exchange") {
		return nil
	}
	conn, err := g.conn(ctx, g.in[0].from)
	if err != nil {
		return err
	}
	return declareQuietly(ctx, conn, reportExchange(g.cfg, g.in[0].from))
}

func (g *footing) declareQueues(ctx context.Context, bind bool) error {
	for _, q := range g.in {
		if err := g.declareQueue(ctx, q, bind); err != nil {
			return err
		}
	}
	if !bind {
		return nil
	}
	for _, q := range g.left {
		if err := g.releaseQueue(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

func (g *footing) declareQueue(ctx context.Context, q *inlet, bind bool) error {
	conn, err := g.conn(ctx, q.from)
	if err != nil {
		return err
	}
	name, err := q.name()
	if err != nil {
		return err
	}
	if err := q.declare(ctx, conn, name); err != nil {
		return err
	}
	if g.cfg.Values.Bool("declare_queue") {
		g.host.Log.Info("declared", "queue", name, "broker", q.from)
	}
	if !bind || !g.cfg.Values.Bool("bind_queue") {
		return nil
	}
	if err := q.bind(ctx, conn, name); err != nil {
		return fmt.Errorf("cannot set up %q: %w", g.cfg.Name, err)
	}
	for _, b := range q.wanted() {
		g.host.Log.Info("bound", "queue", name, "exchange", b.Exchange, "topic", b.Pattern)
	}
	return nil
}

// releaseQueue unbinds a queue that is no longer asked for. What waits in it is left to the next start.
func (g *footing) releaseQueue(ctx context.Context, q *inlet) error {
	conn, err := g.conn(ctx, q.from)
	if err != nil {
		return err
	}
	_, err = q.readOn(ctx, conn)
	return err
}
