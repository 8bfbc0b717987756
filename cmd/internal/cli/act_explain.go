package cli

import (
	"context"

	"srpump/pump/config"
)

// explainActions check and explain a configuration.
func explainActions(p config.Preset) []action {
	out := []action{
		{"check", "[config ...]", "say everything that is wrong with it", func(_ context.Context, s *session, args []string) error {
			return s.check(args)
		}},
		{"show", "[config]", "print every value and where it comes from", func(_ context.Context, s *session, args []string) error {
			return s.show(args)
		}},
	}
	if p&(config.Audit|config.Poll|config.Serve|config.Spool) != 0 {
		return out
	}
	return append(out, action{"explain", "config what ...", "say what would become of a URL, a path or an announcement", func(ctx context.Context, s *session, args []string) error {
		return s.explain(ctx, args)
	}})
}
