package main

import (
	"context"
	"os"
)

// hookRow: what a co-process that sees each announcement costs sr_shovel.
func hookRow(ctx context.Context, b *bed) ([]finding, error) {
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
	shovel := func(name string, more ...string) contender {
		return contender{name, func(ctx context.Context) (sample, error) {
			state, err := b.fresh(b.disk)
			if err != nil {
				return nil, err
			}
			defer os.RemoveAll(state)
			s, err := b.moved(ctx, all, keys, n, "sr_shovel", append(b.winnowArgs(state), more...)...)
			if err != nil {
				return nil, err
			}
			s["µs"] = 1e6 / s["per second"]
			return s, nil
		}}
	}
	got, err := play(ctx, b.rounds, shovel("hook", "-on_message", "exec:"+b.program("bare")+" answer"), shovel("none"))
	if err != nil {
		return nil, err
	}
	hook, none := got["hook"], got["none"]
	return []finding{
		{what: "µs for an announcement", ours: hook.of("µs"), anchor: none.of("µs"), versus: "without a hook"},
		{what: "of them for the hook", ours: added(hook.of("µs"), none.of("µs")), goal: goal{most: 50}},
		{what: "µs of a processor", ours: hook.of("cpu µs"), anchor: none.of("cpu µs"), versus: "without a hook"},
		{what: "of them for the hook, with its program", ours: added(hook.of("cpu µs"), none.of("cpu µs")), goal: goal{most: 50}},
	}, nil
}

// added is what one series has more than the other, round by round; what has less has nothing more.
func added(with, without []float64) []float64 {
	more := make([]float64, min(len(with), len(without)))
	for i := range more {
		more[i] = max(0, with[i]-without[i])
	}
	return more
}
