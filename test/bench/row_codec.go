package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

const codecRounds = 500_000

// codecRow: what it costs to read an announcement of v03 and write it again, beside one of v02.
func codecRow(ctx context.Context, b *bed) ([]finding, error) {
	n := strconv.Itoa(b.of(codecRounds))
	codec := func(version string) contender {
		return contender{version, func(ctx context.Context) (sample, error) {
			out, _, err := b.finish(ctx, b.program("codec"), version, n)
			if err != nil {
				return nil, err
			}
			us, err := strconv.ParseFloat(strings.TrimSpace(out), 64)
			if err != nil {
				return nil, fmt.Errorf("cannot read %q: %w", out, err)
			}
			return sample{"µs": us}, nil
		}}
	}
	got, err := play(ctx, b.rounds, codec("v03"), codec("v02"))
	if err != nil {
		return nil, err
	}
	return []finding{{what: "µs of a processor, read and written", ours: got["v03"].of("µs"), anchor: got["v02"].of("µs"), versus: "v02 codec",
		goal: goal{most: 5}}}, nil
}
