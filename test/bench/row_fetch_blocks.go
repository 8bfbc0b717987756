package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	blockBytes   = 50 << 20
	blockWorkers = 4
	oneFile      = "f000000"
)

// blocksHTTP: one large file in blocks, several at a time, fetched from memory to the disk and verified, beside
// a bare client that does the same and no more. It leaves the writing out to the kernel, so ours does so
// too; what it costs not to is shown.
func blocksHTTP(ctx context.Context, b *bed) ([]finding, error) {
	size := b.of(gib)
	h, err := b.load(ctx, 1, size, b.disk)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(h.src)
	got, err := play(ctx, b.rounds,
		contender{"sr_subscribe", func(ctx context.Context) (sample, error) { return h.inBlocks(ctx, "off") }},
		contender{"bare client", func(ctx context.Context) (sample, error) {
			return h.fetched(ctx, func(dir string) (sample, error) {
				_, took, err := b.finish(ctx, b.program("bare"), "ranges", h.url(oneFile), filepath.Join(dir, oneFile),
					strconv.Itoa(size), strconv.Itoa(blockBytes), strconv.Itoa(blockWorkers))
				return sample{"MB/s": float64(size) / 1e6 / took.Seconds()}, err
			})
		}},
		contender{"durable", func(ctx context.Context) (sample, error) { return h.inBlocks(ctx, "group") }})
	if err != nil {
		return nil, err
	}
	bare := got["bare client"].of("MB/s")
	return []finding{
		{what: "MB/s, fsync off", ours: got["sr_subscribe"].of("MB/s"), anchor: bare, versus: "bare client", goal: goal{ratio: true, least: 0.95}},
		{what: "MB/s, fsync group", ours: got["durable"].of("MB/s"), anchor: bare, versus: "bare client"},
	}, nil
}

// inBlocks fetches the load, announced in blocks.
func (h *haul) inBlocks(ctx context.Context, fsync string) (sample, error) {
	list, err := h.listBlocks(ctx, h.url(""))
	if err != nil {
		return nil, err
	}
	return h.fetched(ctx, func(dir string) (sample, error) { return h.takeBlocks(ctx, list, dir, fsync) })
}

func (h *haul) listBlocks(ctx context.Context, base string) (string, error) {
	list, _, err := h.b.finish(ctx, h.b.program("sr_post"), "-pb", "-", "-pbu", base, "-pbd", h.src, "-sum", "d",
		"-blocksize", strconv.Itoa(blockBytes), "-loglevel", "warning", "-p", h.src)
	return list, err
}

func (h *haul) takeBlocks(ctx context.Context, list, dir, fsync string) (sample, error) {
	workers := strconv.Itoa(blockWorkers)
	cmd := h.b.command(ctx, h.b.program("sr_subscribe"), "foreground", "-b", "-", "-directory", dir, "-fsync", fsync, "-loglevel", "warning",
		"-instances", workers, "-host_workers", workers)
	cmd.Stdin = strings.NewReader(list)
	start := time.Now()
	said, err := cmd.CombinedOutput()
	took := time.Since(start)
	if err != nil {
		return nil, fmt.Errorf("cannot fetch the blocks a pipe announces: %w: %s", err, tail(said))
	}
	fi, err := os.Stat(filepath.Join(h.src, oneFile))
	if err != nil {
		return nil, err
	}
	return sample{"MB/s": float64(fi.Size()) / 1e6 / took.Seconds()}, nil
}

// blocksChanged: the same file once more with one byte changed, where the older copy is. What counts is how many
// bytes the server is asked for.
func blocksChanged(ctx context.Context, b *bed) ([]finding, error) {
	h, err := b.load(ctx, 1, b.of(gib), b.disk)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(h.src)
	var sent atomic.Int64
	files := http.FileServer(http.Dir(h.src))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		files.ServeHTTP(counting{w, &sent}, q)
	}))
	defer s.Close()
	got, err := play(ctx, b.rounds, contender{"sr_subscribe", func(ctx context.Context) (sample, error) {
		return h.fetched(ctx, func(dir string) (sample, error) {
			older, err := os.ReadFile(filepath.Join(h.src, oneFile))
			if err != nil {
				return nil, err
			}
			older[len(older)/2]++
			err = os.WriteFile(filepath.Join(dir, oneFile), older, 0o644)
			list, err2 := h.listBlocks(ctx, s.URL+"/")
			if err := errors.Join(err, err2, h.b.settle(ctx, dir)); err != nil {
				return nil, err
			}
			sent.Store(0)
			out, err := h.takeBlocks(ctx, list, dir, "group")
			if err == nil {
				out["blocks"] = float64(sent.Load()) / blockBytes
			}
			return out, err
		})
	}})
	if err != nil {
		return nil, err
	}
	own := got["sr_subscribe"]
	return []finding{
		{what: "blocks moved, of one byte changed", ours: own.of("blocks"), goal: goal{most: 1.01}},
		{what: "MB/s of the file, fsync group", ours: own.of("MB/s")},
	}, nil
}

// counting counts the bytes of bodies.
type counting struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c counting) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.n.Add(int64(n))
	return n, err
}
