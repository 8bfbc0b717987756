package test

import (
	"os"
	"strings"
	"testing"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"srpump/pump/manage"
	"srpump/test/rabbit"
)

// auditedHost is a host whose configuration manages the node: alice is a source, carol a subscriber.
func auditedHost(t *testing.T, node *rabbit.Node) *host {
	h := newHost(t)
	h.write("home/.config/sarra/admin.conf", "admin amqp://admin@"+node.Addr()+"/\nfeeder amqp://feeder@"+node.Addr()+
		"/\nmanagement_url "+node.ManagementURL()+"\ndeclare source alice\ndeclare subscriber carol\ndeclare exchange xs_extra_public\n")
	creds := ""
	for _, user := range []string{"admin", "feeder", "alice", "carol"} {
		creds += node.URL(user) + "\n"
	}
	h.write("home/.config/sarra/credentials.conf", creds)
	must(t, os.Chmod(h.path("home/.config/sarra/credentials.conf"), 0o600))
	h.write("home/.config/sarra/winnow/w.conf", "broker amqp://feeder@"+node.Addr()+"/\nexchange xs_alice\npost_exchange xwinnow\n")
	return h
}

// Users, permissions and exchanges are made, and what is nobody's goes; a second run has nothing
// left to do.
func TestAuditUsers(t *testing.T) {
	t.Parallel() // it waits more than it works
	node := rabbit.OwnManaged(t)
	h := auditedHost(t, node)
	api, err := manage.New(manage.Options{URL: node.ManagementURL(), User: "admin", Password: "admin"})
	must(t, err)
	defer api.Close()
	must(t, api.PutExchange(t.Context(), "xs_bob"))
	must(t, api.PutExchange(t.Context(), "xs_alice_private"))

	_, said := h.run(0, "", "sr_audit", "-users", "-dry_run", "foreground")
	if !strings.Contains(said, `would change what="delete user" object=bob`) || strings.Contains(said, "] changed") {
		t.Errorf("dry run:\n%s", said)
	}
	us, err := api.Users(t.Context())
	must(t, err)
	if len(us) != 4 {
		t.Errorf("a dry run left the users %v", us)
	}

	_, said = h.run(0, "", "sr_audit", "-users", "foreground")
	for _, want := range []string{`what="make user" object=feeder`, `what="make user" object=alice`, `what="set permissions" object=carol`,
		`what="make exchange" object=xs_extra_public`, `what="delete user" object=bob`, `what="delete user" object=nobody`,
		`what="delete exchange" object=xs_bob`, "left as it is\" object=guest", "bound queue=q_feeder.sr_winnow.w exchange=xs_alice"} {
		if !strings.Contains(strings.ReplaceAll(said, "left as it is object", `left as it is" object`), want) {
			t.Errorf("nothing said of %s", want)
		}
	}
	if t.Failed() {
		t.Log(said)
	}
	allowed(t, node)
	_, said = h.run(0, "", "sr_audit", "-users", "foreground")
	if strings.Contains(said, "] changed") {
		t.Errorf("the second run:\n%s", said)
	}
	out, _ := h.run(0, "", "sr_audit", "-pump")
	for _, want := range []string{"admin admin: well", "source alice: well", "node srpump-", "queue q_feeder.sr_winnow.w: 0 messages"} {
		if !strings.Contains(out, want) {
			t.Errorf("the diagnosis does not say %q:\n%s", want, out)
		}
	}
	_, said = h.run(3, "", "sr_audit", "-users", "-management_url", "http://127.0.0.1:1/", "foreground")
	if !strings.Contains(said, "rabbitmq-plugins enable") {
		t.Error(said)
	}
}

// allowed tries what the roles may and may not do.
func allowed(t *testing.T, node *rabbit.Node) {
	t.Helper()
	try := func(user string, f func(*amqp091.Channel) error) error {
		conn, err := amqp091.Dial(node.URL(user))
		must(t, err)
		defer conn.Close()
		ch, err := conn.Channel()
		must(t, err)
		return f(ch)
	}
	declare := func(x string) func(*amqp091.Channel) error {
		return func(ch *amqp091.Channel) error { return ch.ExchangeDeclare(x, "topic", true, false, false, false, nil) }
	}
	bound := func(q, x string) func(*amqp091.Channel) error {
		return func(ch *amqp091.Channel) error {
			if _, err := ch.QueueDeclare(q, false, true, false, false, nil); err != nil {
				return err
			}
			return ch.QueueBind(q, "#", x, false, nil)
		}
	}
	must(t, try("alice", declare("xs_alice_private")))
	must(t, try("alice", bound("q_alice", "xs_alice")))
	must(t, try("carol", bound("q_carol", "xpublic")))
	must(t, try("feeder", bound("q_feeder", "xs_alice")))
	for what, err := range map[string]error{
		"a subscriber makes an exchange": try("carol", declare("xs_carol_x")),
		"a source makes another's":       try("alice", declare("xs_carol_x")),
		"a subscriber reads another's":   try("carol", bound("q_carol2", "xs_alice")),
	} {
		if err == nil {
			t.Error(what)
		}
	}
}

// The daemon's police deletes what is no pump's, and stops when it is told to.
func TestAuditPolice(t *testing.T) {
	t.Parallel() // it waits more than it works
	node := rabbit.OwnManaged(t)
	h := auditedHost(t, node)
	conn, err := amqp091.Dial(node.URL("admin"))
	must(t, err)
	defer conn.Close()
	ch, err := conn.Channel()
	must(t, err)
	for _, q := range []string{"tasks", "used", "q_bob.x"} {
		_, err := ch.QueueDeclare(q, true, false, false, false, nil)
		must(t, err)
	}
	_, err = ch.Consume("used", "", true, false, false, false, nil)
	must(t, err)
	// What the API says of consumers is some seconds old.
	waitFor(t, "the consumer is seen", func() bool {
		_, said := h.run(0, "", "sr_audit", "-users", "-dry_run", "foreground")
		return strings.Contains(said, "object=used") && strings.Contains(said, "but somebody reads it")
	})
	a := h.start("sr_audit", "-heartbeat", "1h", "foreground")
	a.await("changed")
	a.stop(0)
	api, err := manage.New(manage.Options{URL: node.ManagementURL(), User: "admin", Password: "admin"})
	must(t, err)
	defer api.Close()
	qs, err := api.Queues(t.Context())
	must(t, err)
	names := ""
	for _, q := range qs {
		names += q.Name + " "
	}
	if names != "q_bob.x used " {
		t.Errorf("queues left: %s", names)
	}
}
