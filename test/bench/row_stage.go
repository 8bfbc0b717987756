package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// stageRow: the same files fetched and announced, as copies and by way of a filter that copies them.
func stageRow(ctx context.Context, b *bed) ([]finding, error) {
	h, err := b.load(ctx, b.of(fetchFiles), fetchSize, b.fast)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(h.src)
	got, err := play(ctx, b.rounds,
		contender{"stage", func(ctx context.Context) (sample, error) { return h.announcing(ctx, true) }},
		contender{"without", func(ctx context.Context) (sample, error) { return h.announcing(ctx, false) }})
	if err != nil {
		return nil, err
	}
	own, anchor := got["stage"].of("per second of seconds"), got["without"].of("per second of seconds")
	return []finding{{what: "files/s", ours: own, anchor: anchor, versus: "the flow without a stage", goal: goal{least: 2000}}}, nil
}

// announcing times sr_subscribe from a pipe to a pipe, from process start to process end, with a stage or without.
func (h *haul) announcing(ctx context.Context, stage bool) (sample, error) {
	list, _, err := h.b.finish(ctx, h.b.program("sr_post"), "-pb", "-", "-pbu", h.url(""), "-pbd", h.src, "-sum", "d", "-loglevel", "warning", "-p", h.src)
	if err != nil {
		return nil, err
	}
	made, err := h.b.fresh(h.into)
	if err != nil {
		return nil, err
	}
	defer h.b.remove(made, h.n)
	return h.fetched(ctx, func(dir string) (sample, error) {
		args := []string{"foreground", "-b", "-", "-pb", "-", "-pbu", "file:", "-pbd", dir, "-directory", dir, "-loglevel", "warning"}
		if stage {
			args = append(args, "-pbd", made, "-stage", h.b.program("bare")+" copy "+made)
		}
		cmd := h.b.command(ctx, h.b.program("sr_subscribe"), args...)
		cmd.Stdin = strings.NewReader(list)
		var out, said strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &said
		start := time.Now()
		err := cmd.Run()
		took := time.Since(start)
		if err != nil {
			return nil, fmt.Errorf("cannot fetch what a pipe announces: %w: %s", err, tail([]byte(said.String())))
		}
		if n := strings.Count(out.String(), "\n"); n != h.n {
			return nil, fmt.Errorf("%d announcements of %d", n, h.n)
		}
		if stage {
			err = errors.Join(err, same(h.src, made))
		}
		return sample{"seconds": took.Seconds()}, err
	})
}
