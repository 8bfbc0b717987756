// Command sr_shovel is described in sr_shovel(1).
package main

import (
	"srpump/cmd/internal/cli"
	"srpump/pump/config"
)

func main() { cli.Main(config.Shovel) }
