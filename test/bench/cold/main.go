// Command cold connects, publishes one announcement, waits for the confirm and
// ends. It links the libraries sr_post links, so that what it costs to start
// beyond this is sr_post's own doing.
//
//	cold URL EXCHANGE
package main

import (
	"errors"
	"fmt"
	"os"

	_ "github.com/cespare/xxhash/v2"
	_ "github.com/dlclark/regexp2"
	_ "github.com/fsnotify/fsnotify"
	amqp "github.com/rabbitmq/amqp091-go"
	_ "github.com/urfave/cli/v2"
	_ "golang.org/x/sys/unix"
	_ "modernc.org/sqlite"
	_ "net/http"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: cold url exchange")
		os.Exit(2)
	}
	if err := send(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "cold: %v\n", err)
		os.Exit(1)
	}
}

func send(url, exchange string) error {
	conn, err := amqp.Dial(url)
	if err != nil {
		return err
	}
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	if err := ch.Confirm(false); err != nil {
		return err
	}
	taken, err := ch.PublishWithDeferredConfirm(exchange, "v02.post.f000000", false, false, amqp.Publishing{
		ContentType: "text/plain", ContentEncoding: "utf-8", DeliveryMode: amqp.Persistent,
		Headers: amqp.Table{"parts": "1,1024,1,0,0", "sum": "d,6f5902ac237024bdd0c176cb93063dc4"},
		Body:    []byte("20261121083703.668336075 http://127.0.0.1:8000/ f000000 \n"),
	})
	if err != nil {
		return err
	}
	if !taken.Wait() {
		return errors.New("the broker did not take the announcement")
	}
	return conn.Close()
}
