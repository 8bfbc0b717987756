package pump

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"srpump/pump/broker"
	"srpump/pump/config"
)

// inlet is the queue of a configuration, of user guest on a broker of that user.
func (h *house) inlet(p config.Preset, args ...string) *inlet {
	return &inlet{cfg: h.config(p, args...), host: h.host(), from: endpoint{url: "amqp://guest@localhost/", user: "guest"}, shard: whole}
}

func (h *house) mustName(q *inlet) string {
	h.t.Helper()
	name, err := q.name()
	if err != nil {
		h.t.Fatal(err)
	}
	return name
}

// The name made up for each component.
func TestQueueNames(t *testing.T) {
	for _, c := range []struct {
		preset config.Preset
		args   []string
		want   string
	}{
		{config.Subscribe, nil, `q_guest\.sr_subscribe\.default\.\d{8}\.\d{8}`},
		{config.Subscribe, []string{"-queue_suffix", "x"}, `q_guest\.sr_subscribe\.default\.x\.\d{8}\.\d{8}`},
		{config.Report, nil, `q_guest\.sr_report\.default\.\d{8}\.\d{8}`},
		{config.Sarra, nil, `q_guest\.sr_sarra\.default`},
		{config.Winnow, []string{"-queue_suffix", "x"}, `q_guest\.sr_winnow\.default\.x`},
		{config.Shovel, nil, `q_guest\.sr_shovel\.default`},
		{config.Sender, nil, `q_guest\.sr_sender\.default`},
		{config.Winnow, []string{"-queue_name", "q_guest.mine"}, `q_guest\.mine`},
	} {
		h := newHouse(t)
		if got := h.mustName(h.inlet(c.preset, c.args...)); !regexp.MustCompile("^" + c.want + "$").MatchString(got) {
			t.Errorf("%s %v: %q", c.preset, c.args, got)
		}
	}
	h := newHouse(t)
	q := h.inlet(config.Winnow)
	q.shard = 3
	if got := h.mustName(q); got != "q_guest.sr_winnow.default_03" || !strings.HasSuffix(q.file(), "/sr_winnow.default.guest_03.qname") {
		t.Errorf("of a shard: %q in %s", got, q.file())
	}
}

// The file holds the bare name where v02 looks for it, and wins over queue_name; an empty one, of
// a process that was killed, does not.
func TestQueueNameFile(t *testing.T) {
	h := newHouse(t)
	name := h.mustName(h.inlet(config.Subscribe))
	file := filepath.Join(h.dir, ".cache/sarra/subscribe/default/sr_subscribe.default.guest.qname")
	if b, err := os.ReadFile(file); err != nil || string(b) != name {
		t.Fatalf("the file holds %q (%v), not %q", b, err, name)
	}
	if got := h.mustName(h.inlet(config.Subscribe, "-queue_name", "q_guest.other")); got != name {
		t.Errorf("the configured name won: %q", got)
	}
	if !strings.Contains(h.log.String(), "queue name remembered, not the configured one") {
		t.Error("nothing is said about it")
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := h.mustName(h.inlet(config.Subscribe, "-queue_name", "q_guest.other")); got != "q_guest.other" {
		t.Errorf("beside an empty file: %q", got)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	if len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// Flows that start at once agree on the name.
func TestQueueNameRace(t *testing.T) {
	h := newHouse(t)
	var names sync.Map
	var all sync.WaitGroup
	for range 20 {
		q := h.inlet(config.Subscribe)
		all.Go(func() {
			name, err := q.name()
			names.Store(name, err)
		})
	}
	all.Wait()
	n := 0
	names.Range(func(name, err any) bool {
		n++
		if err != nil {
			t.Error(err)
		}
		return true
	})
	if n != 1 {
		t.Errorf("%d names", n)
	}
}

// Each subtopic binds with the exchange and prefix in force above it.
func TestBindingOrder(t *testing.T) {
	h := newHouse(t)
	q := h.inlet(config.Subscribe, "-exchange", "A", "-subtopic", "a.*.b.#", "-exchange", "B", "-subtopic", "*.c", "-subtopic", "x y.z#")
	want := []boundExchange{{"A", "v02.post.a.*.b.#"}, {"B", "v02.post.*.c"}, {"B", "v02.post.x%20y.z%23"}}
	if got := q.wanted(); len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("%v", got)
	}
	if got := h.inlet(config.Subscribe, "-subtopic", "none").wanted(); len(got) > 0 {
		t.Errorf("subtopic none binds %v", got)
	}
	if got := h.inlet(config.Report).wanted(); len(got) != 1 || got[0].Pattern != "v02.report.#" {
		t.Errorf("no subtopic: %v", got)
	}
}

// What the configuration no longer asks for is unbound, what somebody else bound is left.
func TestStaleBindings(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	setup := func(args ...string) {
		t.Helper()
		if err := Setup(ctx, h.config(config.Winnow, append(args, "-post_exchange", "xout")...), h.host()); err != nil {
			t.Fatal(err)
		}
	}
	c := h.conn()
	const queue = "q_local.sr_winnow.default"
	waiting := func(topic string) int {
		t.Helper()
		if _, err := c.Purge(ctx, queue); err != nil {
			t.Fatal(err)
		}
		h.post("xin", announced("http://h/", "/"+topic+"/f", "x", 1))
		n, err := c.DeclareQueue(ctx, broker.Queue{Name: queue, Passive: true})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	setup("-exchange", "xin", "-subtopic", "old.#", "-subtopic", "both.#")
	if err := c.Bind(ctx, broker.Binding{Queue: queue, Exchange: "xin", Pattern: "v02.post.theirs.#"}); err != nil {
		t.Fatal(err)
	}
	setup("-exchange", "xin", "-subtopic", "both.#", "-subtopic", "new.#")
	for topic, want := range map[string]int{"old": 0, "both": 1, "new": 1, "theirs": 1} {
		if got := waiting(topic); got != want {
			t.Errorf("%s: %d waiting, not %d", topic, got, want)
		}
	}
	setup("-exchange", "xin", "-subtopic", "none")
	for topic, want := range map[string]int{"both": 0, "theirs": 1} {
		if got := waiting(topic); got != want {
			t.Errorf("after subtopic none, %s: %d waiting, not %d", topic, got, want)
		}
	}
	setup("-exchange", "xin", "-subtopic", "again.#", "-bind_queue", "off")
	if got := waiting("again"); got != 0 {
		t.Error("bound with bind_queue off")
	}
}

// A record that is ahead of the broker, as a crash leaves it, is caught up with.
func TestBindingRecordAhead(t *testing.T) {
	h := newHouse(t)
	q := &inlet{cfg: h.config(config.Winnow, "-exchange", "xin"), host: h.host(), from: endpoint{url: "sqlite:///x"}, shard: whole}
	if err := os.MkdirAll(filepath.Dir(q.recordFile()), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`{"queue":"q_local.sr_winnow.default","bindings":[{"exchange":"xnever","pattern":"v02.post.#"}]}`, `{"queue":`,
		`{"queue":"q_other","bindings":[{"exchange":"xin","pattern":"v02.post.#"}]}`,
	} {
		if err := os.WriteFile(q.recordFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Setup(context.Background(), h.config(config.Winnow, "-exchange", "xin", "-post_exchange", "xout"), h.host()); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		r, err := q.record()
		if err != nil || len(r.Bindings) != 1 || r.Bindings[0].Exchange != "xin" {
			t.Errorf("%s: afterwards %v %v", text, r, err)
		}
	}
}

// Cleanup leaves nothing of the configuration, and leaves what others use.
func TestCleanup(t *testing.T) {
	h := newHouse(t)
	ctx := context.Background()
	cfg := func() *config.Config { return h.config(config.Winnow, "-exchange", "xin", "-post_exchange", "xout") }
	if err := Setup(ctx, cfg(), h.host()); err != nil {
		t.Fatal(err)
	}
	c := h.conn()
	if _, err := c.DeclareQueue(ctx, broker.Queue{Name: "q_reader"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Bind(ctx, broker.Binding{Queue: "q_reader", Exchange: "xout", Pattern: "#"}); err != nil {
		t.Fatal(err)
	}
	for _, inUse := range []bool{true, false} {
		if err := Cleanup(ctx, cfg(), h.host()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.DeclareQueue(ctx, broker.Queue{Name: "q_local.sr_winnow.default", Passive: true}); err == nil {
			t.Error("the queue is still there")
		}
		if err := c.DeclareExchange(ctx, broker.Exchange{Name: "xout", Passive: true}); (err == nil) != inUse {
			t.Errorf("exchange in use %v: %v", inUse, err)
		}
		if _, err := os.Stat(cfg().State().Dir()); err == nil {
			t.Error("the state is still there")
		}
		if err := c.DeleteQueue(ctx, "q_reader"); err != nil {
			t.Fatal(err)
		}
	}
	if keptExchange("xs_bob") || !keptExchange("xpublic") || !keptExchange("xwinnow03") || !keptExchange("xreport") || !keptExchange("xs_mqtt_public") {
		t.Error("keptExchange")
	}
}

// What RabbitMQ says of other arguments becomes the line that asks for them.
func TestMatchingLine(t *testing.T) {
	const in = "PRECONDITION_FAILED - inequivalent arg '%' for queue 'q' in vhost '/': received the value 'x' of type 'signedint' but current is "
	for _, c := range []struct{ argument, current, want string }{
		{"x-expires", "the value '300000' of type 'long'", "expire 300s"},
		{"x-expires", "the value '1500' of type 'long'", "expire 1.5"},
		{"x-expires", "none", "expire none"},
		{"x-message-ttl", "the value '3600000' of type 'signedint'", "message_ttl 3600s"},
		{"durable", "'false'", "durable off"},
		{"x-queue-type", "none", "queue_type classic"},
		{"x-max-length", "none", ""},
		{"", "", ""},
	} {
		if got := matchingLine(strings.ReplaceAll(in, "%", c.argument) + c.current); got != c.want {
			t.Errorf("%s, %s: %q, not %q", c.argument, c.current, got, c.want)
		}
	}
}
