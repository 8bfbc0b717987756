package main

import (
	"context"
	"os"
	"path/filepath"
)

// oneGiB: one large file, fetched from memory to the disk and verified, beside
// fetching alone and verifying alone. As curl leaves the writing out to the
// kernel, ours does so too; what it costs not to is shown.
func oneGiB(ctx context.Context, b *bed) ([]finding, error) {
	size := b.of(gib)
	h, err := b.load(ctx, 1, size, b.disk)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(h.src)
	const file = "f000000"
	got, err := play(ctx, b.rounds,
		contender{"sr_subscribe", func(ctx context.Context) (sample, error) { return h.piped(ctx, "off") }},
		contender{"curl -o", func(ctx context.Context) (sample, error) {
			return h.fetched(ctx, func(dir string) (sample, error) {
				_, took, err := b.finish(ctx, "curl", "-q", "-s", "-f", "-o", filepath.Join(dir, file), h.url(file))
				return sample{"seconds": took.Seconds()}, err
			})
		}},
		contender{"durable", func(ctx context.Context) (sample, error) { return h.piped(ctx, "group") }},
		contender{"md5sum", func(ctx context.Context) (sample, error) {
			_, took, err := b.finish(ctx, "md5sum", filepath.Join(h.src, file))
			return sample{"seconds": took.Seconds()}, err
		}})
	if err != nil {
		return nil, err
	}
	speed := func(of, span string) []float64 {
		v := got[of].of(span)
		for i := range v {
			v[i] = float64(size) / 1e6 / v[i]
		}
		return v
	}
	own := speed("sr_subscribe", "seconds")
	return []finding{
		{what: "MB/s, fsync off", ours: own, anchor: speed("curl -o", "seconds"), versus: "curl -o", goal: goal{ratio: true, least: 0.7}},
		{what: "MB/s, fsync off", ours: own, anchor: speed("md5sum", "seconds"), versus: "md5sum", goal: goal{ratio: true, least: 0.85}},
		{what: "MB/s, fsync group", ours: speed("durable", "seconds"), anchor: speed("curl -o", "seconds"), versus: "curl -o"},
	}, nil
}
