package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// postBlocks: one large file announced in blocks into a pipe, and md5sum of the same file in the same round.
func postBlocks(ctx context.Context, b *bed) ([]finding, error) {
	const block = 50 << 20
	size := b.of(gib)
	src, err := b.tree(b.fast, 1, size)
	if err != nil {
		return nil, err
	}
	defer b.remove(src, 1)
	file := filepath.Join(src, "f000000")
	speed := func(check func(out string) error, program string, args ...string) func(context.Context) (sample, error) {
		return func(ctx context.Context) (sample, error) {
			out, took, err := b.finish(ctx, program, args...)
			if err == nil {
				err = check(out)
			}
			return sample{"MB/s": float64(size) / 1e6 / took.Seconds()}, err
		}
	}
	all := func(out string) error {
		if n, want := strings.Count(out, `"parts"`), (size+block-1)/block; n != want {
			return fmt.Errorf("%d of %d blocks announced", n, want)
		}
		return nil
	}
	got, err := play(ctx, b.rounds,
		contender{"sr_post", speed(all, b.program("sr_post"), "-pb", "-", "-blocksize", fmt.Sprint(block), "-sum", "d",
			"-state_dir", filepath.Join(b.disk, "state"), "-loglevel", "warning", "-p", file)},
		contender{"md5sum", speed(func(string) error { return nil }, "md5sum", file)})
	if err != nil {
		return nil, err
	}
	return []finding{{what: "MB/s, 50 MiB blocks", ours: got["sr_post"].of("MB/s"), versus: "md5sum",
		anchor: got["md5sum"].of("MB/s"), goal: goal{ratio: true, least: 1.7}}}, nil
}
