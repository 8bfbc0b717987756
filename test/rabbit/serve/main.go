// Command serve starts a RabbitMQ node for several test processes, prints the
// line by which they join it (NAME=VALUE, for their environment), and ends the
// node when its standard input does.
package main

import (
	"fmt"
	"io"
	"os"

	"srpump/test/rabbit"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintf(os.Stderr, "serve: %v\n", err)
		os.Exit(1)
	}
}

func serve() error {
	dir, err := os.MkdirTemp("", "srpump-rabbit-")
	if err != nil {
		return fmt.Errorf("cannot make the node's directory: %w", err)
	}
	defer os.RemoveAll(dir)
	node, err := rabbit.Launch(dir)
	if err != nil {
		return err
	}
	defer node.Close()
	fmt.Printf("%s=%s\n", rabbit.EnvName, node.Env())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
