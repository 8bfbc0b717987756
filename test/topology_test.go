package test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"srpump/pump"
	"srpump/pump/broker"
	"srpump/pump/config"
	"srpump/test/rabbit"
)

// A topology is one configuration on RabbitMQ, set up by calls as the actions make them.
type topology struct {
	t     *testing.T
	home  string
	url   string
	queue string
	raw   *amqp091.Connection // what another program would use
}

func newTopology(t *testing.T) *topology {
	url := rabbit.Start(t).URL("guest")
	raw, err := amqp091.Dial(url)
	must(t, err)
	t.Cleanup(func() { raw.Close() })
	p := &topology{t: t, home: t.TempDir(), url: url, queue: fresh("q_guest"), raw: raw}
	t.Cleanup(func() {
		p.on(func(ch *amqp091.Channel) error { _, err := ch.QueueDelete(p.queue, false, false, false); return err })
	})
	return p
}

// on does something on a channel of its own, as an error closes it.
func (p *topology) on(f func(*amqp091.Channel) error) error {
	p.t.Helper()
	ch, err := p.raw.Channel()
	must(p.t, err)
	defer ch.Close()
	return f(ch)
}

// act runs an action with options.
func (p *topology) act(do func(context.Context, *config.Config, *pump.Host) error, args ...string) error {
	p.t.Helper()
	words, _, err := config.NormalizeArgs(append([]string{"-b", p.url, "-queue_name", p.queue}, args...))
	must(p.t, err)
	cfg, problems := config.Load(config.Request{Env: config.Env{Home: p.home, Cwd: p.home}, Preset: config.Subscribe, Args: words})
	if config.Failed(problems) {
		p.t.Fatal(problems)
	}
	h := &pump.Host{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Cwd: p.home, Now: time.Now}
	return do(p.t.Context(), cfg, h)
}

// redeclare declares the queue as another implementation does; 406 when the arguments differ.
func (p *topology) redeclare(durable bool, args amqp091.Table) error {
	p.t.Helper()
	return p.on(func(ch *amqp091.Channel) error {
		_, err := ch.QueueDeclare(p.queue, durable, false, false, false, args)
		return err
	})
}

// The arguments are those of v02, whichever width of integer it declares them with.
func TestQueueArguments(t *testing.T) {
	p := newTopology(t)
	must(t, p.act(pump.Declare, "-expire", "10m", "-message_ttl", "1h"))
	must(t, p.redeclare(true, amqp091.Table{"x-expires": int64(600000), "x-message-ttl": int64(3600000)}))
	must(t, p.redeclare(true, amqp091.Table{"x-expires": int32(600000), "x-message-ttl": int32(3600000)}))
	must(t, p.act(pump.Declare, "-expire", "10m", "-message_ttl", "1h"))
	if err := p.redeclare(true, amqp091.Table{"x-expires": int64(600001), "x-message-ttl": int64(3600000)}); err == nil {
		t.Error("the broker takes any arguments")
	}
	must(t, p.act(pump.Cleanup))
	must(t, p.act(pump.Declare, "-expire", "none", "-durable", "off"))
	must(t, p.redeclare(false, nil))
}

// A queue of v02, with its five minutes, is taken over; another's is not, and the error says which
// line would.
func TestQueueAdopted(t *testing.T) {
	p := newTopology(t)
	must(t, p.redeclare(true, amqp091.Table{"x-expires": int32(300000)}))
	must(t, p.act(pump.Declare))
	err := p.act(pump.Declare, "-expire", "1h")
	if !errors.Is(err, broker.ErrPrecondition) || !strings.Contains(broker.Hint(err), `"expire 300s"`) ||
		!strings.Contains(broker.Hint(err), "sr_subscribe cleanup default") {
		t.Errorf("%v\n%s", err, broker.Hint(err))
	}
	must(t, p.act(pump.Declare, "-expire", "300s"))
	must(t, p.act(pump.Cleanup))
	must(t, p.act(pump.Declare, "-expire", "1h"))
	must(t, p.redeclare(true, amqp091.Table{"x-expires": int64(3600000)}))
}

// Of declare_queue and bind_queue, what is off is left out.
func TestStepsLeftOut(t *testing.T) {
	p := newTopology(t)
	exchange := fresh("xs_guest")
	must(t, p.on(func(ch *amqp091.Channel) error {
		return ch.ExchangeDeclare(exchange, "topic", true, false, false, false, nil)
	}))
	err := p.act(pump.Setup, "-declare_queue", "off", "-exchange", exchange)
	if !errors.Is(err, broker.ErrNotFound) {
		t.Errorf("binding a queue that is not there: %v", err)
	}
	must(t, p.act(pump.Setup, "-bind_queue", "off", "-exchange", fresh("xs_none")))
	must(t, p.act(pump.Setup, "-exchange", exchange))
	must(t, p.act(pump.Cleanup, "-declare_queue", "off"))
	must(t, p.on(func(ch *amqp091.Channel) error {
		_, err := ch.QueueDeclarePassive(p.queue, true, false, false, false, nil)
		return err
	}))
}

// routed tells of each topic whether it reaches the queue.
func (p *topology) routed(exchange string, topics ...string) string {
	p.t.Helper()
	var out []string
	for _, topic := range topics {
		must(p.t, p.on(func(ch *amqp091.Channel) error {
			must(p.t, ch.Confirm(false))
			back := ch.NotifyReturn(make(chan amqp091.Return, 1))
			c, err := ch.PublishWithDeferredConfirmWithContext(p.t.Context(), exchange, topic, true, false, amqp091.Publishing{})
			must(p.t, err)
			c.Wait()
			select {
			case <-back:
			default:
				out = append(out, topic)
			}
			return nil
		}))
	}
	return strings.Join(out, " ")
}

// Bindings are those of the manual's example, a changed configuration takes its old ones away, and
// what others bound stays.
func TestBindings(t *testing.T) {
	p := newTopology(t)
	a, b := fresh("xs_guest"), fresh("xs_guest")
	for _, x := range []string{a, b} {
		must(t, p.on(func(ch *amqp091.Channel) error { return ch.ExchangeDeclare(x, "topic", true, false, false, false, nil) }))
	}
	topics := []string{"v02.post.a.x.b", "v02.post.a.x.b.c.d", "v02.post.z.c", "v02.post.z.d", "v02.post.theirs"}
	must(t, p.act(pump.Setup, "-exchange", a, "-subtopic", "a.*.b.#", "-exchange", b, "-subtopic", "*.c"))
	must(t, p.on(func(ch *amqp091.Channel) error { return ch.QueueBind(p.queue, "*.*.theirs", a, false, nil) }))
	check := func(exchange, want string) {
		t.Helper()
		if got := p.routed(exchange, topics...); got != want {
			t.Errorf("%s: %q, not %q", exchange, got, want)
		}
	}
	check(a, "v02.post.a.x.b v02.post.a.x.b.c.d v02.post.theirs")
	check(b, "v02.post.z.c")
	must(t, p.act(pump.Setup, "-exchange", b, "-subtopic", "*.d"))
	check(a, "v02.post.theirs")
	check(b, "v02.post.z.d")
}

// A name in the file of v02 wins over the configured one.
func TestQueueNameOfV02(t *testing.T) {
	p := newTopology(t)
	dir := p.home + "/.cache/sarra/subscribe/default"
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(dir+"/sr_subscribe.default.guest.qname", []byte(p.queue), 0o644))
	name := p.queue
	p.queue = fresh("q_guest_other")
	must(t, p.act(pump.Declare))
	p.queue = name
	must(t, p.redeclare(true, amqp091.Table{"x-expires": (24 * time.Hour).Milliseconds()}))
	must(t, p.act(pump.Cleanup))
	if err := p.on(func(ch *amqp091.Channel) error {
		_, err := ch.QueueDeclarePassive(name, true, false, false, false, nil)
		return err
	}); err == nil {
		t.Error("cleanup left the queue")
	}
}

// A quorum queue is declared as one, and cannot be transient.
func TestQuorumArguments(t *testing.T) {
	p := newTopology(t)
	must(t, p.act(pump.Declare, "-queue_type", "quorum", "-expire", "1h"))
	must(t, p.redeclare(true, amqp091.Table{"x-queue-type": "quorum", "x-expires": int64(3600000)}))
	if err := p.act(pump.Declare, "-expire", "1h"); !strings.Contains(broker.Hint(err), `"queue_type quorum"`) {
		t.Errorf("%v\n%s", err, broker.Hint(err))
	}
	if err := p.act(pump.Declare, "-queue_type", "quorum", "-durable", "off"); err == nil || broker.Hint(err) == "" {
		t.Error(err)
	}
}

// Actions fail at once when there is no broker.
func TestActionsConnectOnce(t *testing.T) {
	p := &topology{t: t, home: t.TempDir(), url: "amqp://guest:guest@127.0.0.1:1/", queue: "q_guest"}
	for name, do := range map[string]func(context.Context, *config.Config, *pump.Host) error{"declare": pump.Declare, "setup": pump.Setup, "cleanup": pump.Cleanup} {
		if err := p.act(do); !errors.Is(err, broker.ErrUnreachable) || strings.Contains(fmt.Sprint(err), "guest:guest") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
