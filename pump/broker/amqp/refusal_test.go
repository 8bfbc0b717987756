package amqp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"srpump/pump/broker"
	"srpump/test/rabbit"
)

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// connect is dial, closed with the test.
func connect(t testing.TB, url string, o broker.Options) broker.Conn {
	t.Helper()
	c := dial(t, url, o)
	t.Cleanup(func() { c.Close() })
	return c
}

func refusedWith(t *testing.T, err, kind error, hint ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error %v, want %v", err, kind)
	}
	for _, word := range hint {
		if !strings.Contains(broker.Hint(err), word) {
			t.Errorf("hint %q of %q does not speak of %q", broker.Hint(err), err, word)
		}
	}
}

// A login the broker refuses is final at Open, and says where to look.
func TestOpenRefused(t *testing.T) {
	node := rabbit.Start(t)
	wrong := strings.Replace(node.URL("bob"), "bob:bob", "bob:wrong", 1)
	_, err := Open(within(t), wrong, broker.Options{})
	refusedWith(t, err, broker.ErrRefused, "credentials.conf", "amqp://bob@")
	if strings.Contains(err.Error()+broker.Hint(err), "wrong") {
		t.Errorf("the password is in %v", err)
	}
	_, err = Open(within(t), node.URL("bob")+"dev", broker.Options{})
	refusedWith(t, err, broker.ErrRefused, "vhost", "bob")
	_, err = Open(within(t), node.URL("admin")+"nowhere", broker.Options{})
	refusedWith(t, err, broker.ErrRefused)
}

// "amqp://h/dev2" opens vhost "/dev2" when there is no "dev2", as v02 hosts mean it.
func TestVhostReadings(t *testing.T) {
	node := rabbit.Start(t)
	for path, vhost := range map[string]string{"dev": "dev", "dev2": "/dev2"} {
		c := connect(t, node.URL("admin")+path, quick)
		if got := c.(*conn).to.vhosts; len(got) != 1 || got[0] != vhost {
			t.Errorf("path %q opened %q, want %q", path, got, vhost)
		}
	}
}

// With no broker there, Open tries until its context ends, or once.
func TestOpenUnreachable(t *testing.T) {
	const nobody = "amqp://127.0.0.1:1/"
	_, err := Open(within(t), nobody, broker.Options{Once: true})
	refusedWith(t, err, broker.ErrUnreachable, "127.0.0.1:1")
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	_, err = Open(ctx, nobody, quick)
	refusedWith(t, err, broker.ErrUnreachable)
	refusedWith(t, err, context.DeadlineExceeded)
}

// Each refusal is explained: 403 names the missing right, 404 the missing
// thing, 406 the argument.
func TestHints(t *testing.T) {
	node, ctx := rabbit.Start(t), within(t)
	admin, bob := connect(t, node.URL("admin"), quick), connect(t, node.URL("bob"), quick)
	must(t, admin.DeclareExchange(ctx, broker.Exchange{Name: "xpublic"}))
	must(t, admin.DeclareExchange(ctx, broker.Exchange{Name: "xs_alice"}))
	_, err := admin.DeclareQueue(ctx, broker.Queue{Name: "q_hints", Expires: time.Minute})
	must(t, err)
	t.Cleanup(func() { must(t, admin.DeleteQueue(context.Background(), "q_hints")) })

	_, err = admin.DeclareQueue(ctx, broker.Queue{Name: "q_hints", Expires: time.Hour})
	refusedWith(t, err, broker.ErrPrecondition, "x-expires", "delete the queue")
	_, err = bob.DeclareQueue(ctx, broker.Queue{Name: "q_alice"})
	refusedWith(t, err, broker.ErrRefused, `"bob"`, "configure", `"q_alice"`, "^q_bob.*|^xs_bob.*", "must also match ^q_alice$")
	_, err = bob.DeclareQueue(ctx, broker.Queue{Name: "q_bob_hints", Expires: time.Minute})
	must(t, err)
	err = bob.Bind(ctx, broker.Binding{Queue: "q_bob_hints", Exchange: "xs_alice", Pattern: "#"})
	refusedWith(t, err, broker.ErrRefused, "read", `"xs_alice"`, "^q_bob.*|^x[lrs]_bob.*|^x.*public$", "must also match ^xs_alice$")
	err = bob.Bind(ctx, broker.Binding{Queue: "q_bob_hints", Exchange: "x_none_public", Pattern: "#"})
	refusedWith(t, err, broker.ErrNotFound, "x_none_public", "check `exchange`")
	_, err = bob.Consume(ctx, "q_hints", broker.ConsumeOptions{})
	refusedWith(t, err, broker.ErrRefused, "read", `"q_hints"`)
	_, err = bob.Consume(ctx, "q_bob_none", broker.ConsumeOptions{})
	refusedWith(t, err, broker.ErrNotFound, "q_bob_none")
	must(t, bob.DeleteQueue(ctx, "q_bob_hints"))
	_, err = connect(t, node.URL("nobody"), quick).DeclareQueue(ctx, broker.Queue{Name: "q_nobody_hints"})
	refusedWith(t, err, broker.ErrRefused, "configure", "is not the usual ^q_nobody.*|^xs_nobody.*", "sr_audit --users")
}

// A publisher's refusals hit the publishings they are about; all others arrive.
func TestPublishRefused(t *testing.T) {
	node, ctx := rabbit.Start(t), within(t)
	admin, bob := connect(t, node.URL("admin"), quick), connect(t, node.URL("bob"), quick)
	for _, x := range []string{"xs_bob_refusal", "xs_carol"} {
		must(t, admin.DeclareExchange(ctx, broker.Exchange{Name: x}))
	}
	p, err := bob.Publisher(ctx, broker.PublishOptions{})
	must(t, err)
	got := map[string][]error{}
	publish := func(what string, m broker.Publishing) {
		must(t, p.Publish(ctx, m, func(err error) { got[what] = append(got[what], err) }))
	}
	for i := range 300 {
		good := broker.Publishing{Exchange: "xs_bob_refusal", Key: "k", Body: fmt.Append(nil, i)}
		publish("good", good)
		switch i % 100 {
		case 10:
			publish("missing", broker.Publishing{Exchange: "xs_bob_none", Key: "k"})
		case 20:
			publish("forbidden", broker.Publishing{Exchange: "xs_carol", Key: "k"})
		case 30:
			good.Expiration = "soon"
			publish("invalid", good)
		case 40:
			good.Headers = map[string]any{"h": struct{}{}}
			publish("unsendable", good)
		}
	}
	must(t, p.Flush(ctx))
	must(t, p.Close())
	for what, want := range map[string]struct {
		n    int
		kind error
		hint string
	}{
		"good":       {300, nil, ""},
		"missing":    {3, broker.ErrNotFound, "declare it"},
		"forbidden":  {3, broker.ErrRefused, "write"},
		"invalid":    {3, broker.ErrPrecondition, ""},
		"unsendable": {3, broker.ErrMessage, ""},
	} {
		if len(got[what]) != want.n {
			t.Errorf("%s: done called %d times, want %d", what, len(got[what]), want.n)
		}
		for _, err := range got[what] {
			if !errors.Is(err, want.kind) || !strings.Contains(broker.Hint(err), want.hint) {
				t.Errorf("%s: %v, hint %q", what, err, broker.Hint(err))
			}
		}
	}
}

// An exchange declared after it was missing takes publishings at once.
func TestDeclareAfterMissing(t *testing.T) {
	ctx := within(t)
	c := connect(t, rabbit.Start(t).AdminURL(), quick)
	p, err := c.Publisher(ctx, broker.PublishOptions{})
	must(t, err)
	result := make(chan error, 1)
	m := broker.Publishing{Exchange: "xs_late", Key: "k"}
	must(t, p.Publish(ctx, m, func(err error) { result <- err }))
	refusedWith(t, <-result, broker.ErrNotFound)
	must(t, c.DeclareExchange(ctx, broker.Exchange{Name: "xs_late"}))
	must(t, p.Publish(ctx, m, func(err error) { result <- err }))
	must(t, <-result)
	must(t, c.DeleteExchange(ctx, "xs_late", false))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
