// Command sfm_harvest is described in sfm_harvest(1).
package main

import (
	"srpump/cmd/internal/cli"
	"srpump/pipeline/sfm/command"
)

func main() { cli.MainTool(command.Harvest{Version: cli.Version}) }
