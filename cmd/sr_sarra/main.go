// Command sr_sarra is described in sr_sarra(1).
package main

import (
	"srpump/cmd/internal/cli"
	"srpump/pump/config"
)

func main() { cli.Main(config.Sarra) }
