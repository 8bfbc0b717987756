package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strconv"

	"github.com/coder/websocket"
	"github.com/klauspost/compress/gzip"
)

// listen puts so many messages of a WebSocket, each as a line, into a compressed file.
func listen(url, count, name string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	ctx := context.Background()
	c, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return err
	}
	defer c.CloseNow()
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	z := gzip.NewWriter(f)
	to := bufio.NewWriterSize(z, 1<<20)
	for range n {
		_, frame, err := c.Read(ctx)
		if err != nil {
			return err
		}
		if _, err := to.Write(append(frame, '\n')); err != nil {
			return err
		}
	}
	return errors.Join(to.Flush(), z.Close(), f.Sync())
}
