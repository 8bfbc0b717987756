package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	itemCount = 200_000 // statuses of some 2,400 bytes
	itemFile  = "items.warc.gz"
)

// itemsRow: the items of one WARC file, taken out and printed, beside gzip -dc of the same file, which prints
// what they are found in.
func itemsRow(ctx context.Context, b *bed) ([]finding, error) {
	n := b.of(itemCount)
	dir, err := b.fresh(b.fast)
	if err != nil {
		return nil, err
	}
	defer b.remove(dir, 3)
	file := filepath.Join(dir, itemFile)
	if _, _, err := b.finish(ctx, b.program("archive"), "items", fmt.Sprint(n), file); err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	timed := func(name, program string, args ...string) contender {
		return contender{name, func(ctx context.Context) (sample, error) {
			used, err := b.used(ctx, program, args...)
			return sample{"MB/s": float64(info.Size()) / 1e6 / used.Seconds(), "items/s": float64(n) / used.Seconds()}, err
		}}
	}
	got, err := play(ctx, b.rounds, timed("items", b.program("sfm_items"), file), timed("gzip", "gzip", "-dc", file))
	if err != nil {
		return nil, err
	}
	return []finding{
		{what: "MB/s of compressed WARC, per core", ours: got["items"].of("MB/s"), versus: "gzip -dc", anchor: got["gzip"].of("MB/s"), goal: goal{least: 50}},
		{what: "items/s, per core", ours: got["items"].of("items/s"), versus: "gzip -dc", anchor: got["gzip"].of("items/s")},
	}, b.sameItems(ctx, file, n)
}

// sameItems sees to it that all items were found.
func (b *bed) sameItems(ctx context.Context, file string, n int) error {
	out, _, err := b.finish(ctx, b.program("sfm_items"), "-cd", file)
	if err != nil {
		return err
	}
	found := 0
	for line := range strings.Lines(out) {
		var day, kind string
		var count int
		if _, err := fmt.Sscan(line, &day, &kind, &count); err != nil {
			return fmt.Errorf("cannot read %q: %w", line, err)
		}
		found += count
	}
	if found != n {
		return fmt.Errorf("%d of %d items found", found, n)
	}
	return nil
}

// used runs a program whose output nobody reads, and returns the processor time it took.
func (b *bed) used(ctx context.Context, program string, args ...string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := b.command(ctx, program, args...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("cannot run %q: %w: %s", filepath.Base(program), err, tail(complaint.Bytes()))
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
