package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	winnowInput  = 50_000
	cacheEntries = 10_000_000
)

// winnowRow: sr_winnow from a full durable queue to another one, and a shovel
// that passes on everything.
func winnowRow(ctx context.Context, b *bed) ([]finding, error) {
	if err := b.broker(); err != nil {
		return nil, err
	}
	if err := b.winnowQueues(ctx); err != nil {
		return nil, err
	}
	n := b.of(winnowInput)
	all, keys := interleaved(n)
	url := b.node.AdminURL()
	got, err := play(ctx, b.rounds,
		contender{"sr_winnow", func(ctx context.Context) (sample, error) {
			state, err := b.fresh(b.disk)
			if err != nil {
				return nil, err
			}
			defer os.RemoveAll(state)
			return b.moved(ctx, all, keys, (n+copies-1)/copies, "sr_winnow", b.winnowArgs(state)...)
		}},
		contender{"bare shovel", func(ctx context.Context) (sample, error) {
			return b.moved(ctx, all, keys, n, "bare", "shovel", url, "q_winnow", "xs_out")
		}})
	if err != nil {
		return nil, err
	}
	own, bare := got["sr_winnow"], got["bare shovel"]
	return []finding{
		{what: "announcements/s", ours: own.of("per second"), anchor: bare.of("per second"), versus: "bare shovel", goal: goal{ratio: true, least: 1}},
		{what: "peak RSS, MiB", ours: own.of("peak MiB"), anchor: bare.of("peak MiB"), versus: "bare shovel"},
	}, nil
}

func (b *bed) winnowArgs(state string) []string {
	url := b.node.AdminURL()
	return []string{"foreground", "-b", url, "-exchange", "xs_in", "-subtopic", "#", "-queue_name", "q_winnow",
		"-pb", url, "-pe", "xs_out", "-state_dir", state, "-loglevel", "warning"}
}

// winnowQueues lets sr_winnow itself declare what it consumes from.
func (b *bed) winnowQueues(ctx context.Context) error {
	if err := b.tap.exchange("xs_in"); err != nil {
		return err
	}
	if err := b.tap.bound("xs_out", "q_out"); err != nil {
		return err
	}
	return b.declareBy(ctx, "sr_winnow", "q_winnow", b.winnowArgs)
}

// declareBy runs a consumer until it has declared its queue and consumes.
func (b *bed) declareBy(ctx context.Context, program, queue string, args func(state string) []string) error {
	state, err := b.fresh(b.disk)
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	r, err := b.start(ctx, b.program(program), args(state)...)
	if err != nil {
		return err
	}
	_, err = b.gauge.until(ctx, r, queue, func(l level) bool { return l.consumers > 0 })
	return errors.Join(err, r.stop())
}

// moved fills the queue, and times a program from the first message it takes
// to the last one it acknowledges; out messages must have come out.
func (b *bed) moved(ctx context.Context, all []amqp.Publishing, keys []string, out int, program string, args ...string) (sample, error) {
	if err := b.tap.purge("q_winnow", "q_out"); err != nil {
		return nil, err
	}
	if err := b.tap.send("xs_in", all, keys); err != nil {
		return nil, err
	}
	if err := b.settle(ctx, b.disk); err != nil {
		return nil, err
	}
	r, err := b.start(ctx, b.program(program), args...)
	if err != nil {
		return nil, err
	}
	p, err := b.gauge.pass(ctx, r, "q_winnow", len(all))
	peak := r.resident("VmHWM")
	if err := errors.Join(err, r.stop()); err != nil {
		return nil, err
	}
	l, err := b.gauge.level("q_out")
	if err == nil && l.ready != out {
		err = fmt.Errorf("%d messages came out, not %d", l.ready, out)
	}
	used := r.cmd.ProcessState.UserTime() + r.cmd.ProcessState.SystemTime() // of those it has waited for too
	return sample{"per second": float64(len(all)) / p.last.Sub(p.first).Seconds(), "peak MiB": peak,
		"cpu µs": float64(used.Microseconds()) / float64(len(all))}, err
}

// winnowMemory: how much memory a process takes for each fingerprint its cache
// holds. Memory is no matter of luck: one run is enough.
func winnowMemory(ctx context.Context, b *bed) ([]finding, error) {
	dir, err := b.fresh(b.disk)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	marks := []int{b.of(cacheEntries / 10), b.of(cacheEntries / 2), b.of(cacheEntries)}
	args := []string{dir}
	for _, m := range marks {
		args = append(args, strconv.Itoa(m))
	}
	out, _, err := b.finish(ctx, b.program("fingerprints"), args...)
	if err != nil {
		return nil, err
	}
	var found []finding
	var base int64
	for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var rss int64
		if _, err := fmt.Sscan(line, &rss); err != nil || i >= len(marks) {
			return nil, fmt.Errorf("cannot read %q: %w", line, err)
		}
		if i == 0 {
			base = rss
			continue
		}
		found = append(found, finding{
			what: fmt.Sprintf("RSS bytes per fingerprint, %s to %s", number(float64(marks[0])), number(float64(marks[i]))),
			ours: []float64{float64(rss-base) / float64(marks[i]-marks[0])},
			goal: goal{most: 100},
		})
	}
	return found, nil
}
