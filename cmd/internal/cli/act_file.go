package cli

import "srpump/pump/config"

// fileActions add, edit and remove the files of a configuration.
func fileActions(p config.Preset) []action { return nil }
