package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// delayed is how long a packet takes each way, and how many may be on it.
const (
	delayed   = "20ms"
	onTheWire = "100000"
)

// A distance is a network of its own, within this host, in which everything is far.
type distance struct{ name string }

// goFar makes one. It needs root, ip(8), and a kernel with netem; whynot says what is missing.
func (b *bed) goFar(ctx context.Context) (d *distance, whynot error) {
	if os.Getuid() != 0 {
		return nil, fmt.Errorf("a network namespace is for root to make")
	}
	d = &distance{name: fmt.Sprintf("srpump-bench-%d", os.Getpid())}
	for i, args := range [][]string{
		{"ip", "netns", "add", d.name},
		{"ip", "-n", d.name, "link", "set", "lo", "up"},
		{"tc", "-n", d.name, "qdisc", "add", "dev", "lo", "root", "netem", "delay", delayed, "limit", onTheWire},
	} {
		if _, _, err := b.finish(ctx, args[0], args[1:]...); err != nil {
			if i > 0 {
				b.comeBack(d)
			}
			return nil, err
		}
	}
	return d, nil
}

// comeBack removes it.
func (b *bed) comeBack(d *distance) {
	_, _, _ = b.finish(context.Background(), "ip", "netns", "delete", d.name) // what stays is of the name of this process
}

// blocksDelayed: the work of blocks-http where an answer takes 40 ms, beside curl with one stream.
func blocksDelayed(ctx context.Context, b *bed) ([]finding, error) {
	d, whynot := b.goFar(ctx)
	if whynot != nil {
		return []finding{{what: fmt.Sprintf("MB/s, not possible here: %v", whynot), goal: goal{ratio: true, least: 3}}}, nil
	}
	defer b.comeBack(d)
	near := b.web
	b.within, b.web = []string{"ip", "netns", "exec", d.name}, nil
	defer func() {
		if b.web != nil {
			b.web.close()
		}
		b.within, b.web = nil, near
	}()
	if err := b.serve(); err != nil {
		return nil, err
	}
	size := b.of(gib)
	src, err := b.tree(b.fast, 1, size)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(src)
	h := &haul{b: b, src: src, into: b.disk, n: 1}
	got, err := play(ctx, b.rounds,
		contender{"sr_subscribe", func(ctx context.Context) (sample, error) { return h.inBlocks(ctx, "off") }},
		contender{"curl", func(ctx context.Context) (sample, error) {
			return h.fetched(ctx, func(dir string) (sample, error) {
				_, took, err := b.finish(ctx, "curl", "-s", "-f", "-o", filepath.Join(dir, oneFile), h.url(oneFile))
				return sample{"MB/s": float64(size) / 1e6 / took.Seconds()}, err
			})
		}})
	if err != nil {
		return nil, err
	}
	return []finding{{what: "MB/s", ours: got["sr_subscribe"].of("MB/s"), anchor: got["curl"].of("MB/s"), versus: "curl, one stream", goal: goal{ratio: true, least: 3}}}, nil
}
