package manage

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"srpump/test/rabbit"
)

func TestMain(m *testing.M) { os.Exit(rabbit.Main(m)) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := New(o)
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

// Each request does on a real broker what it says.
func TestBroker(t *testing.T) {
	node := rabbit.OwnManaged(t)
	c := open(t, Options{URL: node.ManagementURL() + "/", User: "admin", Password: "admin"})
	ctx := t.Context()
	self, err := c.Self(ctx)
	must(t, err)
	if self.Name != "admin" || !self.IsAdministrator() {
		t.Errorf("self is %+v", self)
	}
	over, err := c.Overview(ctx)
	must(t, err)
	nodes, err := c.Nodes(ctx)
	must(t, err)
	if over.Version == "" || len(nodes) != 1 || !nodes[0].Running {
		t.Errorf("%+v %+v", over, nodes)
	}
	t.Run("users", func(t *testing.T) { users(ctx, t, c) })
	t.Run("exchanges", func(t *testing.T) { exchanges(ctx, t, c) })
	t.Run("queues", func(t *testing.T) { queues(ctx, t, c, node) })
	t.Run("refusals", func(t *testing.T) {
		_, err := open(t, Options{URL: node.ManagementURL(), User: "admin", Password: "hunter2"}).Users(ctx)
		if !IsStatus(err, http.StatusUnauthorized) || strings.Contains(err.Error(), "hunter2") {
			t.Error(err)
		}
		_, err = open(t, Options{URL: node.ManagementURL(), User: "bob", Password: "bob"}).Users(ctx)
		if !IsStatus(err, http.StatusUnauthorized) { // bob has no tag
			t.Error(err)
		}
	})
}

func users(ctx context.Context, t *testing.T, c *Client) {
	const name = "we/ird %2f?"
	must(t, c.PutUser(ctx, name, "pass", Administrator))
	must(t, c.SetPermission(ctx, Permission{User: name, Configure: "^q_x.*", Write: "^$", Read: ".*"}))
	us, err := c.Users(ctx)
	must(t, err)
	if !slices.ContainsFunc(us, func(u User) bool { return u.Name == name && u.IsAdministrator() }) {
		t.Errorf("users are %+v", us)
	}
	ps, err := c.Permissions(ctx)
	must(t, err)
	if !slices.Contains(ps, Permission{name, "^q_x.*", "^$", ".*"}) {
		t.Errorf("permissions are %+v", ps)
	}
	must(t, c.DeleteUser(ctx, name))
	must(t, c.DeleteUser(ctx, name)) // once more is no error
	us, err = c.Users(ctx)
	must(t, err)
	if slices.ContainsFunc(us, func(u User) bool { return u.Name == name }) {
		t.Error("the user is still there")
	}
}

func exchanges(ctx context.Context, t *testing.T, c *Client) {
	must(t, c.PutExchange(ctx, "xs_a/b"))
	must(t, c.PutExchange(ctx, "xs_a/b"))
	xs, err := c.Exchanges(ctx)
	must(t, err)
	if !slices.Contains(xs, Exchange{Name: "xs_a/b", Type: "topic", Durable: true}) {
		t.Errorf("exchanges are %+v", xs)
	}
	must(t, c.DeleteExchange(ctx, "xs_a/b"))
	must(t, c.DeleteExchange(ctx, "xs_a/b"))
	if err := c.DeleteExchange(ctx, "amq.topic"); err == nil {
		t.Error("the broker let go of amq.topic")
	}
}

func queues(ctx context.Context, t *testing.T, c *Client, node *rabbit.Node) {
	must(t, c.call(ctx, http.MethodPut, []string{"queues", "/", "q_managed"}, "", map[string]any{"durable": true}, nil))
	qs, err := c.Queues(ctx)
	must(t, err)
	if len(qs) != 1 || qs[0].Name != "q_managed" {
		t.Errorf("queues are %+v", qs)
	}
	must(t, c.DeleteQueue(ctx, "q_managed"))
	must(t, c.DeleteQueue(ctx, "q_managed"))
	other := open(t, Options{URL: node.ManagementURL(), User: "admin", Password: "admin", Vhost: "/dev2"})
	xs, err := other.Exchanges(ctx)
	must(t, err)
	if len(xs) == 0 {
		t.Error("the other vhost has no exchanges")
	}
}

// A management URL that is none, or would put the password into logs, is refused.
func TestURL(t *testing.T) {
	for _, u := range []string{"", "ftp://h/", "http:", "http://user:secret@h/", "%"} {
		if _, err := New(Options{URL: u}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", u, err)
		}
	}
}

// Tags of older brokers are one text.
func TestTags(t *testing.T) {
	for _, text := range []string{`"administrator,monitoring"`, `["administrator","monitoring"]`} {
		var tags Tags
		if err := tags.UnmarshalJSON([]byte(text)); err != nil || !slices.Equal(tags, Tags{"administrator", "monitoring"}) {
			t.Errorf("%s: %v %v", text, tags, err)
		}
	}
}
