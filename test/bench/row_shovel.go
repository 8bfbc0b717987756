package main

import (
	"context"
	"os"
)

// shovelRow: sr_shovel and a bare shovel, each from a full durable queue to
// another one.
func shovelRow(ctx context.Context, b *bed) ([]finding, error) {
	if err := b.broker(); err != nil {
		return nil, err
	}
	if err := b.tap.exchange("xs_in"); err != nil {
		return nil, err
	}
	if err := b.tap.bound("xs_out", "q_out"); err != nil {
		return nil, err
	}
	if err := b.declareBy(ctx, "sr_shovel", "q_winnow", b.winnowArgs); err != nil {
		return nil, err
	}
	n := b.of(winnowInput)
	all, keys := interleaved(n)
	got, err := play(ctx, b.rounds,
		contender{"sr_shovel", func(ctx context.Context) (sample, error) {
			state, err := b.fresh(b.disk)
			if err != nil {
				return nil, err
			}
			defer os.RemoveAll(state)
			return b.moved(ctx, all, keys, n, "sr_shovel", b.winnowArgs(state)...)
		}},
		contender{"bare shovel", func(ctx context.Context) (sample, error) {
			return b.moved(ctx, all, keys, n, "bare", "shovel", b.node.AdminURL(), "q_winnow", "xs_out")
		}})
	if err != nil {
		return nil, err
	}
	own, bare := got["sr_shovel"], got["bare shovel"]
	return []finding{
		{what: "announcements/s", ours: own.of("per second"), anchor: bare.of("per second"), versus: "bare shovel", goal: goal{ratio: true, least: 0.75}},
		{what: "peak RSS, MiB", ours: own.of("peak MiB"), anchor: bare.of("peak MiB"), versus: "bare shovel"},
	}, nil
}
