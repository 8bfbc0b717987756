// Command sr is described in sr(1). It starts the other commands as itself, called by their names.
package main

import (
	"srpump/cmd/internal/cli"
	"srpump/cmd/internal/pipelines"
)

func main() { cli.MainByName(pipelines.All()) }
