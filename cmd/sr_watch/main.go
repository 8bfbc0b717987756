// Command sr_watch is described in sr_watch(1).
package main

import (
	"srpump/cmd/internal/cli"
	"srpump/pump/config"
)

func main() { cli.Main(config.Watch) }
