// Command sfm_mirror is described in sfm_mirror(1).
package main

import (
	"srpump/cmd/internal/cli"
	"srpump/pipeline/sfm/command"
)

func main() { cli.MainTool(command.Mirror{}) }
