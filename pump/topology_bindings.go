package pump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"srpump/pump/broker"
)

// A bindingRecord is what this configuration has bound, kept beside the name of the queue: AMQP
// cannot list bindings, and those that others made on the queue are not ours to remove. It is written
// before anything new is bound and after something old is unbound, so that it never lacks one.
type bindingRecord struct {
	Queue    string          `json:"queue"`
	Bindings []boundExchange `json:"bindings"`
}

type boundExchange struct {
	Exchange string `json:"exchange"`
	Pattern  string `json:"pattern"`
}

// wanted are the bindings of the configuration, in its order.
func (q *inlet) wanted() []boundExchange {
	var out []boundExchange
	for _, b := range q.cfg.Bindings {
		out = append(out, boundExchange{shardName(sourceExchange(q.cfg, q.from, b), q.shard), b.Key()})
	}
	return out
}

// bind binds the queue as configured, and then takes away what it had bound before and is
// no longer configured. New before old: an announcement that matches both is never missed.
func (q *inlet) bind(ctx context.Context, conn broker.Conn, queue string) error {
	if !q.cfg.Values.Bool("bind_queue") {
		return nil
	}
	want := q.wanted()
	before, err := q.note(queue, func(had []boundExchange) []boundExchange { return union(had, want) })
	if err != nil {
		return err
	}
	for _, b := range want {
		if q.from.isLocal() { // where who comes first makes the exchanges
			if err := conn.DeclareExchange(ctx, broker.Exchange{Name: b.Exchange}); err != nil {
				return err
			}
		}
		if err := conn.Bind(ctx, broker.Binding{Queue: queue, Exchange: b.Exchange, Pattern: b.Pattern}); err != nil {
			return err
		}
	}
	stale := slices.DeleteFunc(before, func(b boundExchange) bool { return slices.Contains(want, b) })
	return q.unbind(ctx, conn, queue, stale)
}

// release takes every binding away that this configuration has made, or that v02 made for it.
func (q *inlet) release(ctx context.Context, conn broker.Conn, queue string) error {
	if !q.cfg.Values.Bool("bind_queue") {
		return nil
	}
	r, err := q.record()
	if err != nil {
		return err
	}
	stale := r.Bindings
	if r.Queue != queue {
		stale = q.wanted()
		if _, err := q.note(queue, func([]boundExchange) []boundExchange { return stale }); err != nil {
			return err
		}
	}
	return q.unbind(ctx, conn, queue, stale)
}

// unbind removes stale bindings. One the broker does not let go stays recorded and is tried again at the
// next start: it brings announcements nobody asked for, which is no reason to stop.
func (q *inlet) unbind(ctx context.Context, conn broker.Conn, queue string, stale []boundExchange) error {
	var gone []boundExchange
	for _, b := range stale {
		err := conn.Unbind(ctx, broker.Binding{Queue: queue, Exchange: b.Exchange, Pattern: b.Pattern})
		switch {
		case err == nil:
			gone = append(gone, b)
			q.host.Log.Info("unbound", "queue", queue, "exchange", b.Exchange, "topic", b.Pattern)
		case errors.Is(err, broker.ErrRefused):
			q.host.Log.Warn("not unbound", "queue", queue, "exchange", b.Exchange, "topic", b.Pattern, "error", err, "hint", broker.Hint(err))
		default:
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	_, err := q.note(queue, func(had []boundExchange) []boundExchange {
		return slices.DeleteFunc(had, func(b boundExchange) bool { return slices.Contains(gone, b) })
	})
	return err
}

func union(a, b []boundExchange) []boundExchange {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// note changes the record of queue, and returns what it held before. What it holds of another queue
// is forgotten.
func (q *inlet) note(queue string, change func([]boundExchange) []boundExchange) (before []boundExchange, err error) {
	release, err := q.lock()
	if err != nil {
		return nil, err
	}
	defer release()
	r, err := q.record()
	if err != nil {
		return nil, err
	}
	if r.Queue != queue {
		r = bindingRecord{Queue: queue}
	}
	before = slices.Clone(r.Bindings)
	r.Bindings = change(r.Bindings)
	if slices.Equal(before, r.Bindings) {
		return before, nil
	}
	b, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = writeFile(q.recordFile(), append(b, '\n'))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot remember the bindings: %w", err)
	}
	return before, nil
}

func (q *inlet) recordFile() string { return strings.TrimSuffix(q.file(), ".qname") + ".bindings" }

// record is what was noted last; nothing when there is no file, or one that somebody broke.
func (q *inlet) record() (r bindingRecord, err error) {
	b, err := os.ReadFile(q.recordFile())
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("cannot read the bindings: %w", err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		q.host.Log.Warn("damaged record of bindings", "file", q.recordFile(), "error", err, "hint", "bindings it held stay until somebody unbinds them")
		return bindingRecord{}, nil
	}
	return r, nil
}

// forget removes the record, as the queue and its bindings are gone.
func (q *inlet) forget() error {
	if err := os.Remove(q.recordFile()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
