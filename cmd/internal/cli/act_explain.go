package cli

import (
	"context"

	"srpump/pump/config"
)

// explainActions check and explain a configuration.
func explainActions(p config.Preset) []action {
	return []action{
		{"check", "[config ...]", "say everything that is wrong with it", func(_ context.Context, s *session, args []string) error {
			return s.check(args)
		}},
		{"show", "[config]", "print every value and where it comes from", func(_ context.Context, s *session, args []string) error {
			return s.show(args)
		}},
	}
}
