// Command sfm_export is described in sfm_export(1).
package main

import (
	"srpump/cmd/internal/cli"
	"srpump/pipeline/sfm/command"
)

func main() { cli.MainTool(command.Export{}) }
