package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	warcPages    = 10_000
	warcPageSize = 20 << 10 // bytes, of the program archive
)

// warcRow: pages written as the records of a WARC file, and that file read and verified, beside gzip of
// the same bytes.
func warcRow(ctx context.Context, b *bed) ([]finding, error) {
	n := b.of(warcPages)
	dir, err := b.fresh(b.fast)
	if err != nil {
		return nil, err
	}
	defer b.remove(dir, 3)
	pages, file := filepath.Join(dir, "pages"), filepath.Join(dir, "a.warc.gz")
	if _, _, err := b.finish(ctx, b.program("archive"), "pages", fmt.Sprint(n), pages); err != nil {
		return nil, err
	}
	timed := func(name, program string, args ...string) contender {
		return contender{name, func(ctx context.Context) (sample, error) {
			_, took, err := b.finish(ctx, program, args...)
			return rates(n, took), err
		}}
	}
	got, err := play(ctx, b.rounds, timed("write", b.program("archive"), "write", pages, file), timed("gzip", "gzip", "-kf6", pages),
		timed("read", b.program("warc"), "check", "-q", file), timed("gunzip", "gzip", "-t", file))
	if err != nil {
		return nil, err
	}
	return warcFindings(got), b.sameRecords(ctx, file, n)
}

func rates(n int, took time.Duration) sample {
	return sample{"records/s": float64(n) / took.Seconds(), "MB/s": float64(n*warcPageSize) / 1e6 / took.Seconds()}
}

func warcFindings(got map[string]series) []finding {
	return []finding{
		{what: "records/s written, 20 KiB each", ours: got["write"].of("records/s"), versus: "gzip -6", anchor: got["gzip"].of("records/s"), goal: goal{least: 9000}},
		{what: "MB/s written", ours: got["write"].of("MB/s"), versus: "gzip -6", anchor: got["gzip"].of("MB/s"), goal: goal{ratio: true, least: 2}},
		{what: "records/s read and verified", ours: got["read"].of("records/s"), versus: "gzip -t", anchor: got["gunzip"].of("records/s"), goal: goal{least: 8000}},
		{what: "MB/s read and verified", ours: got["read"].of("MB/s"), versus: "gzip -t", anchor: got["gunzip"].of("MB/s")},
	}
}

// sameRecords sees to it that the file holds what was to be written.
func (b *bed) sameRecords(ctx context.Context, file string, n int) error {
	out, _, err := b.finish(ctx, b.program("warc"), "ls", file)
	if err != nil {
		return err
	}
	if lines := strings.Count(out, " response "); lines != n {
		return fmt.Errorf("%d of %d records written", lines, n)
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "  %d bytes of %d\n", info.Size(), n*warcPageSize)
	return nil
}
