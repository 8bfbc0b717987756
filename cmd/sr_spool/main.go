// Command sr_spool is described in sr_spool(1).
package main

import (
	"srpump/cmd/internal/cli"
	"srpump/cmd/internal/pipelines"
	"srpump/pump/config"
)

func main() { cli.MainWith(config.Spool, pipelines.All()) }
