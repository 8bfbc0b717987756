// Command sr is described in sr(1). It starts the other commands as itself, called by their names.
package main

import "srpump/cmd/internal/cli"

func main() { cli.MainByName() }
