package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	statusConfigs = 500
	startConfigs  = 100
	startLimit    = time.Minute
	idleTime      = time.Minute
)

// configurations replaces the home's subscribe directory by n configurations, each with a queue
// of its own that gets everything sent to xs_in.
func (b *bed) configurations(n int) error {
	home := filepath.Join(b.disk, "home")
	if err := os.RemoveAll(home); err != nil {
		return err
	}
	dir := filepath.Join(home, "sarra/subscribe")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range n {
		text := fmt.Sprintf("broker %s\nexchange xs_in\nqueue_name %s\nsubtopic #\nnotify_only on\n", b.node.AdminURL(), startQueue(i))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("c%03d.conf", i)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func startQueue(i int) string { return fmt.Sprintf("q_admin_start%03d", i) }

// statusRow: sr status of a host with many configurations, none of which runs.
func statusRow(ctx context.Context, b *bed) ([]finding, error) {
	if err := b.broker(); err != nil {
		return nil, err
	}
	n := b.of(statusConfigs)
	if err := b.configurations(n); err != nil {
		return nil, err
	}
	got, err := play(ctx, b.rounds, contender{"sr status", func(ctx context.Context) (sample, error) {
		out, took, err := b.finish(ctx, b.program("sr"), "status")
		if err == nil && !strings.Contains(out, fmt.Sprintf("c%03d", n-1)) {
			err = fmt.Errorf("the last configuration is not shown: %s", tail([]byte(out)))
		}
		return sample{"ms": float64(took) / float64(time.Millisecond)}, err
	}})
	if err != nil {
		return nil, err
	}
	return []finding{{what: fmt.Sprintf("ms, %d configurations", n), ours: got["sr status"].of("ms"), goal: goal{most: 200}}}, nil
}

// startRow: from sr start to the moment each of many configurations has taken the first message
// that waited for it.
func startRow(ctx context.Context, b *bed) ([]finding, error) {
	if err := b.broker(); err != nil {
		return nil, err
	}
	n := b.of(startConfigs)
	err := b.tap.exchange("xs_in")
	if err == nil {
		err = b.configurations(n)
	}
	if err == nil {
		_, _, err = b.finish(ctx, b.program("sr"), "setup")
	}
	if err != nil {
		return nil, err
	}
	got, err := play(ctx, b.rounds, contender{"sr start", func(ctx context.Context) (sample, error) { return b.startAll(ctx, n) }})
	if err != nil {
		return nil, err
	}
	return []finding{
		{what: fmt.Sprintf("s to the first message of each of %d", n), ours: got["sr start"].of("s"), goal: goal{most: 5}},
		{what: "s until sr start returns", ours: got["sr start"].of("returned")},
	}, nil
}

func (b *bed) startAll(ctx context.Context, n int) (sample, error) {
	one, keys := interleaved(1)
	if err := b.tap.send("xs_in", one, keys); err != nil {
		return nil, err
	}
	begin := time.Now()
	_, returned, err := b.finish(ctx, b.program("sr"), "start")
	taken := 0
	for err == nil && taken < n && time.Since(begin) < startLimit {
		var l level
		if l, err = b.gauge.level(startQueue(taken)); err == nil && l.ready == 0 && l.consumers > 0 {
			taken++
		}
	}
	took := time.Since(begin)
	if err == nil && taken < n {
		err = fmt.Errorf("only %d of %d took their message", taken, n)
	}
	_, _, stopped := b.finish(ctx, b.program("sr"), "stop")
	return sample{"s": took.Seconds(), "returned": returned.Seconds()}, errors.Join(err, stopped)
}

// idleRow: what a flow costs to which nothing comes. One run: it is as long as it has to be.
func idleRow(ctx context.Context, b *bed) ([]finding, error) {
	if err := b.broker(); err != nil {
		return nil, err
	}
	state, err := b.fresh(b.disk)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(state)
	r, err := b.start(ctx, b.program("sr_subscribe"), "foreground", "-b", b.node.AdminURL(), "-exchange", "xs_idle_public",
		"-bind_queue", "off", "-queue_name", "q_idle", "-state_dir", state)
	if err != nil {
		return nil, err
	}
	_, err = b.gauge.until(ctx, r, "q_idle", func(l level) bool { return l.consumers > 0 })
	wait := time.Duration(float64(idleTime) * min(1, b.scale))
	before := r.processorTime()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
	used, rss := r.processorTime()-before, r.resident("VmRSS")
	if err := errors.Join(err, r.stop(), ctx.Err()); err != nil {
		return nil, err
	}
	return []finding{
		{what: fmt.Sprintf("%% of a processor, over %v", wait), ours: []float64{100 * used.Seconds() / wait.Seconds()}, goal: goal{most: 0.1}},
		{what: "RSS, MiB", ours: []float64{rss}, goal: goal{most: 20}},
	}, nil
}

// processorTime is what the program has used so far, by the kernel's fine clock.
func (r *running) processorTime() (total time.Duration) {
	found, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", r.cmd.Process.Pid))
	for _, f := range found {
		text, _ := os.ReadFile(f)
		var ns int64
		_, _ = fmt.Sscan(string(text), &ns) // a thread may have ended
		total += time.Duration(ns)
	}
	return total
}
