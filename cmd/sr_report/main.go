// Command sr_report is described in sr_winnow(1).
package main

import (
	"srpump/cmd/internal/cli"
	"srpump/pump/config"
)

func main() { cli.Main(config.Report) }
