// Command srpump is all commands in one: it runs the one it is called as, or the one its first
// argument names. See srpump(7).
package main

import (
	"srpump/cmd/internal/cli"
	"srpump/cmd/internal/pipelines"
)

func main() { cli.MainByName(pipelines.All()) }
