package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"time"
)

const (
	exportCount = 1_000_000 // statuses of some 2,400 bytes
	exportFiles = 4
)

// exportRow: a table of the items of several WARC files, each once, beside gzip -dc of the same files.
func exportRow(ctx context.Context, b *bed) ([]finding, error) {
	n := b.of(exportCount) / exportFiles
	dir, err := b.fresh(b.fast)
	if err != nil {
		return nil, err
	}
	defer b.remove(dir, 8)
	var files []string
	for i := range exportFiles {
		file := filepath.Join(dir, fmt.Sprint(i, ".warc.gz"))
		if _, _, err := b.finish(ctx, b.program("archive"), "items", fmt.Sprint(n), file); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	n *= exportFiles
	out := filepath.Join(dir, "out")
	timed := func(name, program string, args ...string) contender {
		return contender{name, func(ctx context.Context) (sample, error) {
			took, peak, err := b.measured(ctx, program, append(args, files...)...)
			return sample{"items/s": float64(n) / took.Seconds(), "peak MiB": peak}, err
		}}
	}
	got, err := play(ctx, b.rounds, timed("export", b.program("sfm_export"), "-d", "-t", "mastodon_timeline", "-o", out), timed("gzip", "gzip", "-dc"))
	if err != nil {
		return nil, err
	}
	return []finding{
		{what: "items/s", ours: got["export"].of("items/s"), versus: "gzip -dc", anchor: got["gzip"].of("items/s")},
		{what: "peak RSS, MiB", ours: got["export"].of("peak MiB"), goal: goal{most: 200}},
	}, b.sameRows(ctx, out, n)
}

// sameRows sees to it that all items are in the table: it has no line ends in quotes.
func (b *bed) sameRows(ctx context.Context, dir string, n int) error {
	out, _, err := b.finish(ctx, "wc", "-l", filepath.Join(dir, "out_001.csv"))
	if err != nil {
		return err
	}
	lines := 0
	if _, err := fmt.Sscan(out, &lines); err != nil || lines != n+1 {
		return fmt.Errorf("%d lines, %d items, %v", lines, n, err)
	}
	return nil
}

// measured runs a program whose output nobody reads, and returns how long it took, and the most memory it
// had, in MiB.
func (b *bed) measured(ctx context.Context, program string, args ...string) (time.Duration, float64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := b.command(ctx, program, args...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	from := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("cannot run %q: %w: %s", filepath.Base(program), err, tail(complaint.Bytes()))
	}
	took := time.Since(from)
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, 0, fmt.Errorf("%q has no usage", filepath.Base(program))
	}
	return took, float64(usage.Maxrss*1024) / (1 << 20), nil
}
