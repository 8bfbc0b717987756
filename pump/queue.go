package pump

import (
	"context"
	"errors"
	"fmt"
	"time"

	"srpump/pump/broker"
	"srpump/pump/config"
)

// An inlet is the queue a flow is fed from: its name, its arguments and its bindings, as
// configured and as remembered in the state directory.
type inlet struct {
	cfg   *config.Config
	host  *Host
	from  endpoint
	shard int  // of an exchange that is split, or whole
	keep  bool // what is in it, whatever reset says, which is for the start of a run
}

// adoptedExpire is what v02 hosts declared their queues with when nothing was said.
const adoptedExpire = 5 * time.Minute

// user is the broker's, whose name stands in the names of queues and files.
func (q *inlet) user() string {
	if q.from.user == "" {
		return "local"
	}
	return q.from.user
}

// arguments are those the queue is declared with. Queues of the local broker do not expire
// unless told to: there nobody else would notice a forgotten one filling up.
func (q *inlet) arguments(name string) broker.Queue {
	v := q.cfg.Values
	out := broker.Queue{Name: name, Transient: !v.Bool("durable"), Expires: v.Duration("expire"), MessageTTL: v.Duration("message_ttl")}
	if q.from.isLocal() && !v.Set("expire") {
		out.Expires = 0
	}
	if v.String("queue_type") == quorum && !q.from.isLocal() {
		out.Args = map[string]any{"x-queue-type": quorum}
	}
	return out
}

// quorum is the type of a queue that several nodes of a cluster keep.
const quorum = "quorum"

// errTransientQuorum is a queue that is both.
var errTransientQuorum = errors.New("a quorum queue is always durable")

// checkQueue refuses what does not go together, before a broker is asked.
func checkQueue(c *config.Config) error {
	if c.Values.String("queue_type") == quorum && !c.Values.Bool("durable") {
		return &broker.Error{Op: "use", Object: "durable off", Kind: errTransientQuorum, Hint: "take out durable off, or queue_type quorum"}
	}
	return nil
}

// declare makes the queue, with reset a new one. Where nothing is said of expire, a queue that v02 made
// is taken over as it is.
func (q *inlet) declare(ctx context.Context, conn broker.Conn, name string) error {
	v := q.cfg.Values
	if q.host.resets(q.cfg) && !q.keep {
		if err := q.drop(ctx, conn, name); err != nil {
			return err
		}
	}
	if !v.Bool("declare_queue") {
		return nil
	}
	want := q.arguments(name)
	_, first := conn.DeclareQueue(ctx, want)
	if !errors.Is(first, broker.ErrPrecondition) || v.Set("expire") || want.Expires == 0 {
		return q.advise(first)
	}
	want.Expires = adoptedExpire
	if _, err := conn.DeclareQueue(ctx, want); err != nil {
		if !errors.Is(err, broker.ErrPrecondition) {
			first = err
		}
		return q.advise(first)
	}
	return nil
}

// drop deletes the queue and forgets what it was bound to.
func (q *inlet) drop(ctx context.Context, conn broker.Conn, name string) error {
	if err := conn.DeleteQueue(ctx, name); err != nil {
		return err
	}
	return q.forget()
}

// advise says what to do about a queue that exists with other arguments: keep it, with the line that
// asks for what it has, or delete it.
func (q *inlet) advise(err error) error {
	var refusal *broker.Error
	if !errors.As(err, &refusal) || refusal.Kind != broker.ErrPrecondition {
		return err
	}
	out := *refusal
	out.Hint = fmt.Sprintf("%s cleanup %s deletes the queue with what waits in it", q.cfg.Preset.Program(), q.cfg.Name)
	if line := matchingLine(refusal.Reason); line != "" {
		out.Hint = fmt.Sprintf("the line %q keeps the queue as it is; %s", line, out.Hint)
	}
	return &out
}
