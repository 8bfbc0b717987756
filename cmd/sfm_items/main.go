// Command sfm_items is described in sfm_items(1).
package main

import (
	"srpump/cmd/internal/cli"
	"srpump/pipeline/sfm/command"
)

func main() { cli.MainTool(command.Items{}) }
