package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"srpump/pump"
	"srpump/pump/audit"
	"srpump/pump/broker"
	"srpump/pump/manage"
)

// audit looks after the broker: once with the option users, by a report with the option pump, else at
// each heartbeat until ctx ends.
func (s *session) audit(ctx context.Context) error {
	v := s.cfg.Values
	switch {
	case v.Bool("pump"):
		return s.withBroker(func(c *manage.Client, r *audit.Roster) error {
			return audit.Diagnose(ctx, c, r, s.auditOptions(), s.Stdout)
		})
	case v.Bool("users"):
		return s.auditUsers(ctx)
	}
	return s.keep(ctx)
}

// An auditing is sr_audit as a worker. At each heartbeat it has sanity looked after, and where there is an
// administrator also the queues of the broker.
type auditing struct {
	s      *session
	rounds atomic.Int64
	away   bool // another host has the address of vip
}

// auditEvery is how often there is a round when there is no heartbeat.
const auditEvery = 5 * time.Minute

// Run implements worker. A broker that is away is tried again at the next heartbeat.
func (a *auditing) Run(ctx context.Context) error {
	s := a.s
	s.pulse.ready()
	s.log.Info("auditing", "broker", s.cfg.Values.Text("admin"))
	every := s.cfg.Values.Duration("heartbeat")
	if every <= 0 {
		every = auditEvery
	}
	beat := time.NewTicker(every)
	defer beat.Stop()
	for {
		if err := a.round(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("cannot look after the broker, trying again", "error", err, "hint", broker.Hint(err))
		}
		a.rounds.Add(1)
		select {
		case <-beat.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (a *auditing) round(ctx context.Context) error {
	a.s.hostSanity(ctx)
	if !a.s.cfg.Values.Set("admin") || a.standsBy() {
		return nil
	}
	return a.s.auditQueues(ctx)
}

// standsBy reports whether the broker is for another host to look after, and logs when that changes.
func (a *auditing) standsBy() bool {
	vip := a.s.cfg.Values.String("vip")
	away := vip != "" && !pump.HoldsAddress(vip)
	switch {
	case away && !a.away:
		a.s.log.Info("standing by", "address", vip)
	case a.away && !away:
		a.s.log.Info("in charge", "address", vip)
	}
	a.away = away
	return away
}

// InHand implements worker: a round holds nothing another would have to do.
func (a *auditing) InHand() (int, time.Time) { return 0, time.Time{} }

// Retries implements worker.
func (a *auditing) Retries() int { return 0 }

// Count implements worker.
func (a *auditing) Count() map[string]int64 { return map[string]int64{"rounds": a.rounds.Load()} }

func (s *session) auditOptions() audit.Options {
	v := s.cfg.Values
	return audit.Options{SetPasswords: v.Bool("set_passwords"), Reset: v.Bool("reset"), MaxQueueSize: v.Int("max_queue_size")}
}

// withBroker hands out a client and the roster, and explains what the broker refused.
func (s *session) withBroker(do func(*manage.Client, *audit.Roster) error) error {
	r, err := audit.ReadRoster(s.cfg)
	if err != nil {
		return usageError{err}
	}
	c, err := audit.Connect(s.cfg)
	if err != nil {
		return usageError{err}
	}
	defer c.Close()
	for _, pair := range r.Leaks() {
		s.log.Warn("one user may use what is another's", "user", pair[0], "other", pair[1], "hint", "permissions go by how names begin: rename one")
	}
	return s.explainManagement(do(c, r))
}

// explainManagement makes a refusal of the management API one of the broker.
func (s *session) explainManagement(err error) error {
	if err == nil || errors.Is(err, audit.ErrTooMany) || errors.Is(err, context.Canceled) {
		return err
	}
	out := &broker.Error{Op: "manage", Object: s.cfg.Values.Text("admin"), Kind: broker.ErrRefused, Reason: err.Error()}
	switch {
	case manage.IsStatus(err, http.StatusUnauthorized), manage.IsStatus(err, http.StatusForbidden):
		out.Hint = "the user of the option admin needs the tag administrator: rabbitmqctl set_user_tags USER administrator"
	case !errors.As(err, new(*manage.Status)):
		out.Kind = broker.ErrUnreachable
		out.Hint = "enable it with rabbitmq-plugins enable rabbitmq_management, or say where it is with management_url"
	}
	return out
}

// auditUsers makes the broker as configured, and then all configurations of this host their queues.
func (s *session) auditUsers(ctx context.Context) error {
	err := s.withBroker(func(c *manage.Client, r *audit.Roster) error {
		h, err := audit.Look(ctx, c)
		if err != nil {
			return err
		}
		return s.change(ctx, c, audit.PlanUsers(r, h, s.auditOptions()))
	})
	if err != nil || s.cfg.Values.Bool("dry_run") {
		return err
	}
	return errors.Join(
		s.everyConfig(func(t *session) error { return t.atBroker(ctx, topology.Declare) }),
		s.everyConfig(func(t *session) error { return t.atBroker(ctx, topology.Setup) }))
}

// auditQueues is one round of the queue police.
func (s *session) auditQueues(ctx context.Context) error {
	return s.withBroker(func(c *manage.Client, r *audit.Roster) error {
		h, err := audit.Look(ctx, c)
		if err != nil {
			return err
		}
		return s.change(ctx, c, audit.Police(r, h, s.auditOptions()))
	})
}

// change does what is planned, or with dry_run says it.
func (s *session) change(ctx context.Context, c *manage.Client, plan []audit.Change) error {
	if s.cfg.Values.Bool("dry_run") {
		audit.Show(plan, s.log)
		return nil
	}
	if err := audit.Check(plan, s.cfg.Values.Bool("force")); err != nil {
		audit.Show(plan, s.log)
		return fmt.Errorf("cannot go on: %w", err)
	}
	return audit.Apply(ctx, c, plan, s.log)
}
