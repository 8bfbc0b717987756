package test

import (
	"context"
	"fmt"
	"testing"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
	"srpump/test/rabbit"
)

// A quorum queue carries a flow: what a killed process had in hand comes again, what waits outlives
// the node, and the flow goes on after a restart of the broker.
func TestQuorumFlow(t *testing.T) {
	t.Parallel() // it waits more than it works
	node := rabbit.Own(t)
	url, in, out, queue := node.URL("guest"), fresh("xs_guest"), fresh("xs_guest"), fresh("q_guest")
	h, files := newHost(t), newCorpus(scale(600, 5000))
	files.write(t, h.path("src"))
	conn := connect(t, url)
	must(t, conn.DeclareExchange(context.Background(), broker.Exchange{Name: in}))
	passed := captureFrom(t, conn, out)
	start := func() *running {
		r := h.start("sr_winnow", "-b", url, "-exchange", in, "-pb", url, "-post_exchange", out, "-queue_name", queue, "-queue_type", "quorum")
		r.await("consuming")
		return r
	}
	start().kill()
	isQuorum(t, url, queue)
	// A node killed within moments forgets that there is a queue, or which log is its own.
	_, err := node.Ctl("eval", "[ok = dets:sync(T) || T <- dets:all()], mnesia:dump_log().")
	must(t, err)
	h.run(0, "", "sr_post", "-pb", url, "-post_exchange", in, "-pbu", "http://h/", "-pbd", h.path("src"), "-p", h.path("src"))
	r := start()
	waitFor(t, "some passed", func() bool { return passed.len() > 0 }, r.text)
	r.kill()
	r = start()
	node.Kill()
	must(t, node.Restart())
	waitFor(t, "all passed", func() bool { return passed.len() == len(files) }, r.text, func() string {
		queues, _ := node.Ctl("list_queues", "name", "state", "messages_ready", "messages_unacknowledged", "consumers")
		return fmt.Sprintf("%d of %d passed\n%s", passed.len(), len(files), queues)
	})
	r.stop()
	r = start()
	r.await("consuming")
	r.stop()
}

func isQuorum(t *testing.T, url, queue string) {
	t.Helper()
	raw, err := amqp091.Dial(url)
	must(t, err)
	defer raw.Close()
	ch, err := raw.Channel()
	must(t, err)
	_, err = ch.QueueDeclare(queue, true, false, false, false, amqp091.Table{"x-queue-type": "quorum", "x-expires": int64(86400000)})
	must(t, err)
}
