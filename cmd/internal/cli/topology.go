package cli

import (
	"context"
	"fmt"
	"os"

	"srpump/pump"
	"srpump/pump/config"
)

// A topology is what a configuration has on its broker. A component that is no part of a pump has one
// where its worker does.
type topology interface {
	Declare(ctx context.Context) error
	Setup(ctx context.Context) error
	Cleanup(ctx context.Context) error
}

// atBroker does something with the topology of the configuration.
func (s *session) atBroker(ctx context.Context, do func(topology, context.Context) error) error {
	if _, other := s.Pipelines[s.preset]; !other {
		return do(ofPump{s.cfg, s.host()}, ctx)
	}
	w, err := s.newPipeline()
	if err != nil {
		return err
	}
	t, has := w.(topology)
	if !has {
		return usagef("%s has nothing on a broker", s.program)
	}
	return do(withState{t, s}, ctx)
}

// ofPump is the topology of a flow or a poster.
type ofPump struct {
	cfg  *config.Config
	host *pump.Host
}

func (t ofPump) Declare(ctx context.Context) error { return pump.Declare(ctx, t.cfg, t.host) }
func (t ofPump) Setup(ctx context.Context) error   { return pump.Setup(ctx, t.cfg, t.host) }
func (t ofPump) Cleanup(ctx context.Context) error { return pump.Cleanup(ctx, t.cfg, t.host) }

// withState cleans up the state on disk, too, after what is on the broker, so that what failed can be
// done again.
type withState struct {
	topology
	s *session
}

func (t withState) Cleanup(ctx context.Context) error {
	if err := t.topology.Cleanup(ctx); err != nil {
		return err
	}
	dir := t.s.cfg.State().Dir()
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("cannot remove state: %w", err)
	}
	t.s.log.Info("deleted", "directory", dir)
	return nil
}
