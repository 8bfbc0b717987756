package cli

import "srpump/pump/config"

// explainActions check and explain a configuration.
func explainActions(p config.Preset) []action { return nil }
