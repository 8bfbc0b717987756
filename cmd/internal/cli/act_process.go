package cli

import "srpump/pump/config"

// processActions start, stop and watch over a configuration.
func processActions(p config.Preset) []action { return nil }
