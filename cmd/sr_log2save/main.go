// Command sr_log2save is described in sr_log2save(1).
package main

import (
	"srpump/cmd/internal/cli"
	"srpump/cmd/internal/pipelines"
)

func main() { cli.MainByName(pipelines.All()) }
