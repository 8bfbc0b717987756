// Command warc is described in warc(1).
package main

import (
	"srpump/cmd/internal/cli"
	"srpump/pipeline/warc/command"
)

func main() { cli.MainTool(command.Command{}) }
