// Command sr_subscribe is described in sr_subscribe(1).
package main

import (
	"srpump/cmd/internal/cli"
	"srpump/pump/config"
)

func main() { cli.Main(config.Subscribe) }
