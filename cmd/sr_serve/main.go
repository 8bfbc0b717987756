// Command sr_serve is described in sr_serve(1).
package main

import (
	"srpump/cmd/internal/cli"
	"srpump/pump/config"
)

func main() { cli.Main(config.Serve) }
