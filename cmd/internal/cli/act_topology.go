package cli

import "srpump/pump/config"

// topologyActions declare and delete what the broker holds for a configuration.
func topologyActions(p config.Preset) []action { return nil }
