package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"srpump/pump/broker"
	"srpump/pump/broker/sqlite"
)

const (
	postFiles = 10_000
	postSize  = 1 << 10
	coldRuns  = 20 // within one round
)

// postRabbit: sr_post of small files into a durable queue, and the bare
// publisher; both whole processes, from start to end.
func postRabbit(ctx context.Context, b *bed) ([]finding, error) {
	n := b.of(postFiles)
	src, err := b.tree(b.disk, n, postSize)
	if err != nil {
		return nil, err
	}
	defer b.remove(src, n)
	if err := b.postbox(); err != nil {
		return nil, err
	}
	got, err := play(ctx, b.rounds,
		contender{"sr_post", func(ctx context.Context) (sample, error) {
			return b.posted(ctx, n, "sr_post", b.postArgs(b.node.AdminURL(), src)...)
		}},
		contender{"bare publisher", func(ctx context.Context) (sample, error) {
			return b.posted(ctx, n, "bare", "publish", b.node.AdminURL(), "xs_bench", strconv.Itoa(n))
		}})
	if err != nil {
		return nil, err
	}
	return []finding{{what: "files/s", ours: got["sr_post"].of("per second"), versus: "bare publisher",
		anchor: got["bare publisher"].of("per second"), goal: goal{ratio: true, least: 0.7}}}, nil
}

// postbox makes the exchange and queue posters send to.
func (b *bed) postbox() error {
	if err := b.broker(); err != nil {
		return err
	}
	return b.tap.bound("xs_bench", "q_bench")
}

// postArgs announces the tree src with md5 sums.
func (b *bed) postArgs(broker, src string) []string {
	return []string{"-pb", broker, "-pe", "xs_bench", "-pbu", "http://127.0.0.1:8000/", "-pbd", src, "-sum", "d",
		"-state_dir", filepath.Join(b.disk, "state"), "-loglevel", "warning", "-p", src}
}

// posted runs a program that has to leave n messages in the queue.
func (b *bed) posted(ctx context.Context, n int, program string, args ...string) (sample, error) {
	if err := b.tap.purge("q_bench"); err != nil {
		return nil, err
	}
	_, took, err := b.finish(ctx, b.program(program), args...)
	if err != nil {
		return nil, err
	}
	l, err := b.gauge.level("q_bench")
	if err == nil && l.ready != n {
		err = fmt.Errorf("the queue holds %d of %d messages", l.ready, n)
	}
	return sample{"per second": float64(n) / took.Seconds()}, err
}

// postSQLite: the same into the file engine, on the disk.
func postSQLite(ctx context.Context, b *bed) ([]finding, error) {
	n := b.of(postFiles)
	src, err := b.tree(b.disk, n, postSize)
	if err != nil {
		return nil, err
	}
	defer b.remove(src, n)
	got, err := play(ctx, b.rounds, contender{"sr_post", func(ctx context.Context) (sample, error) {
		return b.postedLocally(ctx, n, src)
	}})
	if err != nil {
		return nil, err
	}
	return []finding{{what: "files/s, sqlite", ours: got["sr_post"].of("per second"), goal: goal{least: 20_000}}}, nil
}

func (b *bed) postedLocally(ctx context.Context, n int, src string) (sample, error) {
	dir, err := b.fresh(b.disk)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	url := "sqlite://" + filepath.Join(dir, "pump.db")
	conn, err := sqlite.Open(ctx, url, broker.Options{})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	queue := broker.Queue{Name: "q_bench"}
	err = conn.DeclareExchange(ctx, broker.Exchange{Name: "xs_bench"})
	if err == nil {
		_, err = conn.DeclareQueue(ctx, queue)
	}
	if err == nil {
		err = conn.Bind(ctx, broker.Binding{Queue: queue.Name, Exchange: "xs_bench", Pattern: "#"})
	}
	if err == nil {
		err = b.settle(ctx, dir)
	}
	if err != nil {
		return nil, err
	}
	_, took, err := b.finish(ctx, b.program("sr_post"), b.postArgs(url, src)...)
	if err != nil {
		return nil, err
	}
	queue.Passive = true
	if ready, err := conn.DeclareQueue(ctx, queue); err != nil || ready != n {
		return nil, fmt.Errorf("the queue holds %d of %d messages: %w", ready, n, err)
	}
	return sample{"per second": float64(n) / took.Seconds()}, nil
}

// postCold: sr_post of one file, and a bare program with the same libraries
// linked that connects, publishes, is confirmed and ends.
func postCold(ctx context.Context, b *bed) ([]finding, error) {
	src, err := b.tree(b.disk, 1, postSize)
	if err != nil {
		return nil, err
	}
	defer b.remove(src, 1)
	if err := b.postbox(); err != nil {
		return nil, err
	}
	url := b.node.AdminURL()
	ours := append([]string{b.program("sr_post")}, b.postArgs(url, src)...)
	got, err := play(ctx, b.rounds,
		contender{"sr_post", func(ctx context.Context) (sample, error) { return b.cold(ctx, ours...) }},
		contender{"bare program", func(ctx context.Context) (sample, error) { return b.cold(ctx, b.program("cold"), url, "xs_bench") }})
	if err != nil {
		return nil, err
	}
	own, bare := got["sr_post"], got["bare program"]
	return []finding{
		{what: "ms, one file", ours: own.of("ms"), anchor: bare.of("ms"), versus: "bare program", goal: goal{most: 12}},
		{what: "peak RSS, MiB", ours: own.of("peak MiB"), anchor: bare.of("peak MiB"), versus: "bare program", goal: goal{most: 16}},
	}, nil
}

// cold runs a command coldRuns times by way of a small parent: a child's peak
// is never below what its parent held when it was started.
func (b *bed) cold(ctx context.Context, command ...string) (sample, error) {
	if err := b.tap.purge("q_bench"); err != nil {
		return nil, err
	}
	out, _, err := b.finish(ctx, b.program("bare"), append([]string{"repeat", strconv.Itoa(coldRuns)}, command...)...)
	if err != nil {
		return nil, err
	}
	var ms []float64
	peak := 0.0
	for line := range strings.Lines(out) {
		var ns, kib int64
		if _, err := fmt.Sscan(line, &ns, &kib); err != nil {
			return nil, fmt.Errorf("cannot read %q: %w", line, err)
		}
		ms = append(ms, float64(ns)/float64(time.Millisecond))
		peak = max(peak, float64(kib)/1024)
	}
	l, err := b.gauge.level("q_bench")
	if err == nil && l.ready != coldRuns {
		err = fmt.Errorf("the queue holds %d of %d messages", l.ready, coldRuns)
	}
	return sample{"ms": median(ms), "peak MiB": peak}, err
}
