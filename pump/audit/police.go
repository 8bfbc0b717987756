package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"srpump/pump/manage"
)

// Police is what the queue police does: queues whose names are no pump's go, and those that have grown
// to MaxQueueSize while the broker cannot run them. A large one that works is only noticed. Without
// any source or subscriber nothing is done, as in PlanUsers.
func Police(r *Roster, h *Holdings, o Options) []Change {
	if !r.Clients() {
		return nil
	}
	var out []Change
	for _, q := range h.Queues {
		switch {
		case strangeName(q.Name) && inUse(q):
			out = append(out, Change{Kind: Leave, Object: q.Name, Why: "queue with a strange name, but somebody reads it"})
		case strangeName(q.Name):
			out = append(out, deleteQueue(q, "its name does not begin with q_"))
		case o.MaxQueueSize <= 0 || q.Messages < o.MaxQueueSize:
		case !dead(q):
			out = append(out, Change{Kind: Leave, Object: q.Name, Why: fmt.Sprintf("queue has grown to %d messages", q.Messages)})
		default:
			out = append(out, deleteQueue(q, fmt.Sprintf("%d messages and %s", q.Messages, q.State)))
		}
	}
	return out
}

// strangeQueues are those of users who are not declared.
func strangeQueues(r *Roster, h *Holdings) []Change {
	var out []Change
	for _, q := range h.Queues {
		if !strangeName(q.Name) && strings.HasPrefix(q.Name, "q_") && !r.owns(q.Name, "q_") && !q.Exclusive {
			out = append(out, deleteQueue(q, "of a user who is not declared"))
		}
	}
	return out
}

// strangeName: queues of pumps begin with q_, or with cmc, as an older system's did.
func strangeName(name string) bool {
	return !strings.HasPrefix(name, "q_") && !strings.HasPrefix(name, "cmc") && !strings.HasPrefix(name, "amq.")
}

func inUse(q manage.Queue) bool { return q.Consumers > 0 || q.Exclusive }

// dead: a queue under flow control is as alive as can be, and one that recovers, or waits for a majority
// of its nodes, or is in a state a later broker has a word for, may still give what it holds.
func dead(q manage.Queue) bool {
	return slices.Contains([]string{"down", "stopped", "crashed", "terminated"}, q.State)
}

func deleteQueue(q manage.Queue, why string) Change {
	return Change{DeleteQueue, q.Name, why, func(ctx context.Context, c *manage.Client) error { return c.DeleteQueue(ctx, q.Name) }}
}
