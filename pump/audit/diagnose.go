package audit

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"srpump/pump/manage"
)

// Diagnose prints how the broker is, who is configured and what does not agree, for a person.
func Diagnose(ctx context.Context, c *manage.Client, r *Roster, o Options, w io.Writer) error {
	over, err := c.Overview(ctx)
	if err != nil {
		return err
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	h, err := Look(ctx, c)
	if err != nil {
		return err
	}
	t := over.Totals
	fmt.Fprintf(w, "broker %s: RabbitMQ %s, %d connections, %d consumers, %d queues, %d exchanges, %d messages waiting\n",
		over.Cluster, over.Version, t.Connections, t.Consumers, t.Queues, t.Exchanges, over.Waiting.Messages)
	for _, n := range nodes {
		fmt.Fprintf(w, "node %s: %s\n", n.Name, health(n))
	}
	for _, a := range r.Accounts {
		fmt.Fprintf(w, "%s %s: %s\n", a.Role, a.Name, state(a, h))
	}
	for _, q := range largest(h.Queues) {
		fmt.Fprintf(w, "queue %s: %d messages, %d consumers\n", q.Name, q.Messages, q.Consumers)
	}
	for _, x := range PlanUsers(r, h, o) {
		fmt.Fprintf(w, "to do: %s %s (%s)\n", x.Kind, x.Object, x.Why)
	}
	return nil
}

func health(n manage.Node) string {
	var out []string
	if !n.Running {
		out = append(out, "not running")
	}
	if n.MemoryAlarm {
		out = append(out, "short of memory, publishers are stopped")
	}
	if n.DiskAlarm {
		out = append(out, "short of disk space, publishers are stopped")
	}
	if len(out) == 0 {
		return "well"
	}
	return strings.Join(out, ", ")
}

func state(a Account, h *Holdings) string {
	switch {
	case !slices.ContainsFunc(h.Users, func(u manage.User) bool { return u.Name == a.Name }):
		return "not on the broker"
	case !slices.Contains(h.Permissions, a.Rights()):
		return "has other permissions"
	}
	return "well"
}

// shown is how many queues a diagnosis lists.
const shown = 10

func largest(qs []manage.Queue) []manage.Queue {
	qs = slices.Clone(qs)
	slices.SortFunc(qs, func(a, b manage.Queue) int {
		return cmp.Or(cmp.Compare(b.Messages, a.Messages), strings.Compare(a.Name, b.Name))
	})
	return qs[:min(shown, len(qs))]
}
