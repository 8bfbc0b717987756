package rabbit

import (
	"os"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// Each user gets in, by the password the definitions hold.
func TestUsers(t *testing.T) {
	n := Start(t)
	for _, user := range []string{"admin", "guest", "bob", "nobody"} {
		c, err := amqp.Dial(n.URL(user))
		if err != nil {
			t.Fatalf("%s: %v", user, err)
		}
		c.Close()
	}
}

// What a killed node had on disk is there after its restart, and rabbitmqctl
// reaches it.
func TestKillAndRestart(t *testing.T) {
	n := Own(t)
	if _, err := n.Ctl("add_vhost", "kept"); err != nil {
		t.Fatal(err)
	}
	n.Kill()
	if _, err := amqp.Dial(n.AdminURL()); err == nil {
		t.Fatal("a killed node still answers")
	}
	if err := n.Restart(); err != nil {
		t.Fatal(err)
	}
	out, err := n.Ctl("list_vhosts")
	if err != nil || !strings.Contains(out, "kept") {
		t.Fatalf("vhosts after restart: %q, %v", out, err)
	}
}

// A process that is told of a node joins it and starts none.
func TestJoin(t *testing.T) {
	n := Start(t)
	j, err := Join(n.Env())
	if err != nil {
		t.Fatal(err)
	}
	if j.URL("bob") != n.URL("bob") {
		t.Fatalf("joined %q, want %q", j.URL("bob"), n.URL("bob"))
	}
	j.Close()
	if c, err := amqp.Dial(n.URL("bob")); err != nil {
		t.Fatalf("closing a joined node ended it: %v", err)
	} else {
		c.Close()
	}
}
