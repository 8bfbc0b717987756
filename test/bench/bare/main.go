// Command bare is what srpump is measured against: amqp091-go and nothing else.
//
//	bare publish URL EXCHANGE N     N announcements, a window of 1,000 unconfirmed
//	bare shovel URL QUEUE EXCHANGE  every message out again, until SIGTERM
//	bare copy DIR                   a filter of a stage: a copy of each file, until its input ends
//	bare ranges URL FILE SIZE BLOCK WORKERS   a file in blocks, so many at a time, each hashed
//	bare listen URL N FILE          N messages of a WebSocket, as lines into a compressed file
//	bare answer                     true for each line of its input: a hook
//	bare repeat N COMMAND...        runs it N times; prints ns and peak KiB of each
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	window = 1000 // unconfirmed or unacknowledged
	acks   = 200  // acknowledged at a time
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "bare: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "publish":
		n, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		return publish(args[1], args[2], n)
	case len(args) == 4 && args[0] == "shovel":
		return shovel(args[1], args[2], args[3])
	case len(args) == 2 && args[0] == "copy":
		return copyAll(args[1])
	case len(args) == 6 && args[0] == "ranges":
		return ranges(args[1], args[2], args[3], args[4], args[5])
	case len(args) == 4 && args[0] == "listen":
		return listen(args[1], args[2], args[3])
	case len(args) == 1 && args[0] == "answer":
		return answer(os.Stdin, os.Stdout)
	case len(args) > 2 && args[0] == "repeat":
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return repeat(n, args[2:])
	}
	return fmt.Errorf("cannot understand %q", args)
}

func open(url string) (*amqp.Connection, *amqp.Channel, <-chan amqp.Confirmation, error) {
	conn, err := amqp.Dial(url)
	if err != nil {
		return nil, nil, nil, err
	}
	ch, err := conn.Channel()
	if err != nil {
		return nil, nil, nil, err
	}
	return conn, ch, ch.NotifyPublish(make(chan amqp.Confirmation, window)), ch.Confirm(false)
}

func publish(url, exchange string, n int) error {
	conn, ch, confirms, err := open(url)
	if err != nil {
		return err
	}
	waiting := 0
	for i := range n {
		if waiting == window {
			<-confirms
			waiting--
		}
		key := fmt.Sprintf("v02.post.f%06d", i)
		if err := ch.Publish(exchange, key, false, false, announcement(i)); err != nil {
			return err
		}
		waiting++
	}
	for ; waiting > 0; waiting-- {
		if c, ok := <-confirms; !ok || !c.Ack {
			return errors.New("the broker did not take a publishing")
		}
	}
	return conn.Close()
}

// announcement has the headers and the size of what sr_post sends.
func announcement(i int) amqp.Publishing {
	return amqp.Publishing{
		ContentType: "text/plain", ContentEncoding: "utf-8", DeliveryMode: amqp.Persistent,
		Headers: amqp.Table{
			"atime": "20261121082849.276433219", "mtime": "20261121082721.364430075", "mode": "644",
			"parts": "1,1024,1,0,0", "sum": "d,6f5902ac237024bdd0c176cb93063dc4",
			"from_cluster": "127.0.0.1", "to_clusters": "127.0.0.1", "source": "admin",
		},
		Body: fmt.Appendf(nil, "20261121083703.668336075 http://127.0.0.1:8000/ f%06d \n", i),
	}
}

// shovel acknowledges what the broker has confirmed, acks at a time and when
// nothing more is on its way. It has a connection for each direction, which is
// faster than one for both.
func shovel(url, queue, exchange string) error {
	_, out, confirms, err := open(url)
	if err != nil {
		return err
	}
	_, ch, _, err := open(url)
	if err != nil {
		return err
	}
	if err := ch.Qos(window, 0, false); err != nil {
		return err
	}
	in, err := ch.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	var sent, confirmed, acked uint64 // tags count from 1, in the order of both
	for {
		select {
		case d, ok := <-in:
			if !ok {
				return errors.New("the broker ended the consumer")
			}
			sent = d.DeliveryTag
			if err := out.Publish(exchange, d.RoutingKey, false, false, again(&d)); err != nil {
				return err
			}
		case c, ok := <-confirms:
			if !ok || !c.Ack {
				return errors.New("the broker did not take a publishing")
			}
			confirmed = c.DeliveryTag
		}
		if confirmed-acked >= acks || confirmed == sent && confirmed > acked {
			if err := ch.Ack(confirmed, true); err != nil {
				return err
			}
			acked = confirmed
		}
	}
}

func again(d *amqp.Delivery) amqp.Publishing {
	return amqp.Publishing{Headers: d.Headers, ContentType: d.ContentType, ContentEncoding: d.ContentEncoding,
		DeliveryMode: amqp.Persistent, Body: d.Body}
}

// answer writes its answers when there is nothing to be read for the moment, and so never keeps one back.
func answer(r io.Reader, w io.Writer) error {
	in, out := bufio.NewReaderSize(r, 64<<10), bufio.NewWriter(w)
	for {
		if _, err := in.ReadSlice('\n'); err == io.EOF {
			return out.Flush()
		} else if err != nil {
			return err
		}
		if _, err := out.WriteString("true\n"); err != nil {
			return err
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

func repeat(n int, command []string) error {
	for range n {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		start := time.Now()
		if err := cmd.Run(); err != nil {
			return err
		}
		took := time.Since(start)
		fmt.Println(took.Nanoseconds(), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	}
	return nil
}
