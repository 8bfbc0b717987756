package cli

import (
	"errors"
	"slices"

	"srpump/pump"
	"srpump/pump/broker"
	"srpump/pump/config"
	"srpump/pump/daemon"
)

// A Maker makes the worker of a component that is no part of a pump; cmd hands it in. It opens
// nothing, and its errors are those of the configuration. args follow the configuration on the
// command line.
type Maker = func(c *config.Config, h *pump.Host, args []string) (daemon.Worker, error)

// Pipelines are the makers of such components.
type Pipelines map[config.Preset]Maker

// errNoPipeline is a component this program was built without.
var errNoPipeline = errors.New("it is not in this program")

// newPipeline makes the worker of a component that was handed in.
func (s *session) newPipeline() (worker, error) {
	make, known := s.Pipelines[s.preset]
	if !known {
		return nil, usagef("cannot run %s: %w", s.program, errNoPipeline)
	}
	w, err := make(s.cfg, s.host(), s.paths)
	if err != nil {
		return nil, usageError{err}
	}
	if s.cfg.Path == "" && s.instance == 0 {
		return lone{w}, nil
	}
	return w, nil
}

// checkPipeline is what a start of such a component would end with.
func (s *session) checkPipeline() []config.Problem {
	make, known := s.Pipelines[s.preset]
	if !known {
		return nil
	}
	if _, err := make(s.cfg, s.host(), nil); err != nil {
		return []config.Problem{{Severity: config.Error, Text: err.Error(), Hint: broker.Hint(err)}}
	}
	return nil
}

// A lone worker has no configuration and keeps what it needs where it works, so that any number of
// them may run.
type lone struct{ worker }

func (lone) Ephemeral() bool { return true }

// directions are the ways messages go through a spool.
func directions() []string { return []string{"in", "out", "save", "restore"} }

// takeDirection takes the direction off the arguments: it is the option of that name.
func (s *session) takeDirection(rest []string) []string {
	if s.preset != config.Spool || len(rest) == 0 || !slices.Contains(directions(), rest[0]) {
		return rest
	}
	s.words = append(s.words, []string{"direction", rest[0]})
	return rest[1:]
}
