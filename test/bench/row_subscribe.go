package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	fetchFiles = 5_000
	fetchSize  = 4 << 10
	gib        = 1 << 30
)

// A haul is one load of files behind nginx, and where it is fetched to.
type haul struct {
	b      *bed
	src    string // flat directory, in memory
	into   string // root of the directories fetched to
	n      int
	config string // of curl
}

// load makes the files, serves them and prepares the queue.
func (b *bed) load(ctx context.Context, n, size int, into string) (*haul, error) {
	if err := b.broker(); err != nil {
		return nil, err
	}
	if err := b.serve(); err != nil {
		return nil, err
	}
	src, err := b.tree(b.fast, n, size)
	if err != nil {
		return nil, err
	}
	h := &haul{b: b, src: src, into: into, n: n}
	if err := b.tap.exchange("xs_fetch"); err != nil {
		return nil, err
	}
	return h, b.declareBy(ctx, "sr_subscribe", "q_fetch", func(state string) []string { return h.args(state, state, "off") })
}

// url is where file f of the load is served.
func (h *haul) url(f string) string { return h.b.web.url + "/" + filepath.Base(h.src) + "/" + f }

func (h *haul) args(state, dir, fsync string) []string {
	return []string{"foreground", "-b", h.b.node.AdminURL(), "-exchange", "xs_fetch", "-subtopic", "#", "-queue_name", "q_fetch",
		"-directory", dir, "-fsync", fsync, "-state_dir", state, "-loglevel", "warning"}
}

// announce puts the whole load into the queue, with md5 sums.
func (h *haul) announce(ctx context.Context) error {
	if err := h.b.tap.purge("q_fetch"); err != nil {
		return err
	}
	_, _, err := h.b.finish(ctx, h.b.program("sr_post"), "-pb", h.b.node.AdminURL(), "-pe", "xs_fetch", "-pbu", h.url(""), "-pbd", h.src,
		"-sum", "d", "-state_dir", filepath.Join(h.b.disk, "state"), "-loglevel", "warning", "-p", h.src)
	return err
}

// subscribed times sr_subscribe from its start, and from the first announcement
// it takes, to the last file installed and acknowledged.
func (h *haul) subscribed(ctx context.Context, fsync string) (s sample, err error) {
	state, err := h.b.fresh(h.b.disk)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(state)
	if err := h.announce(ctx); err != nil {
		return nil, err
	}
	return h.fetched(ctx, func(dir string) (sample, error) {
		r, err := h.b.start(ctx, h.b.program("sr_subscribe"), h.args(state, dir, fsync)...)
		if err != nil {
			return nil, err
		}
		p, err := h.b.gauge.pass(ctx, r, "q_fetch", h.n)
		peak := r.resident("VmHWM")
		if err := errors.Join(err, r.stop()); err != nil {
			return nil, err
		}
		return sample{"seconds": p.last.Sub(r.since).Seconds(), "running": p.last.Sub(p.first).Seconds(), "peak MiB": peak}, nil
	})
}

// piped times sr_subscribe reading the announcements from a file, as curl reads its list: from
// process start to process end, with no broker beside it.
func (h *haul) piped(ctx context.Context, fsync string) (sample, error) {
	list, _, err := h.b.finish(ctx, h.b.program("sr_post"), "-pb", "-", "-pbu", h.url(""), "-pbd", h.src, "-sum", "d", "-loglevel", "warning", "-p", h.src)
	if err != nil {
		return nil, err
	}
	return h.fetched(ctx, func(dir string) (sample, error) {
		cmd := h.b.command(ctx, h.b.program("sr_subscribe"), "foreground", "-b", "-", "-directory", dir, "-fsync", fsync, "-loglevel", "warning")
		cmd.Stdin = strings.NewReader(list)
		start := time.Now()
		said, err := cmd.CombinedOutput()
		took := time.Since(start)
		if err != nil {
			return nil, fmt.Errorf("cannot fetch what a pipe announces: %w: %s", err, tail(said))
		}
		return sample{"seconds": took.Seconds()}, nil
	})
}

// curled times curl, and with sync the writing out of what it fetched.
func (h *haul) curled(ctx context.Context, sync bool) (sample, error) {
	return h.fetched(ctx, func(dir string) (sample, error) {
		if err := h.writeConfig(dir); err != nil {
			return nil, err
		}
		start := time.Now()
		if _, _, err := h.b.finish(ctx, "curl", "-q", "-s", "-f", "-Z", "--parallel-max", "16", "-K", h.config); err != nil {
			return nil, err
		}
		if sync {
			if err := h.b.settle(ctx, dir); err != nil {
				return nil, err
			}
		}
		return sample{"seconds": time.Since(start).Seconds()}, nil
	})
}

// writeConfig lists for curl what to fetch, and where to.
func (h *haul) writeConfig(dir string) error {
	var b strings.Builder
	entries, err := os.ReadDir(h.src)
	if err != nil {
		return err
	}
	for _, e := range entries {
		fmt.Fprintf(&b, "url = %q\noutput = %q\n", h.url(e.Name()), filepath.Join(dir, e.Name()))
	}
	h.config = filepath.Join(h.b.disk, "curl.config")
	return os.WriteFile(h.config, []byte(b.String()), 0o600)
}

// fetched runs what fetches the load into a new directory, compares the bytes
// and removes them. Before it, the disk is at rest.
func (h *haul) fetched(ctx context.Context, run func(dir string) (sample, error)) (sample, error) {
	dir, err := h.b.fresh(h.into)
	if err != nil {
		return nil, err
	}
	defer h.b.remove(dir, h.n)
	if err := h.b.settle(ctx, h.b.disk); err != nil {
		return nil, err
	}
	s, err := run(dir)
	if err != nil {
		return nil, err
	}
	for _, span := range []string{"seconds", "running"} {
		if v, ok := s[span]; ok {
			s["per second of "+span] = float64(h.n) / v
		}
	}
	return s, same(h.src, dir)
}

// subscribeFast: small files to memory.
func subscribeFast(ctx context.Context, b *bed) ([]finding, error) {
	h, err := b.load(ctx, b.of(fetchFiles), fetchSize, b.fast)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(h.src)
	got, err := play(ctx, b.rounds,
		contender{"sr_subscribe", func(ctx context.Context) (sample, error) { return h.subscribed(ctx, "group") }},
		contender{"curl -Z", func(ctx context.Context) (sample, error) { return h.curled(ctx, false) }})
	if err != nil {
		return nil, err
	}
	own, anchor := got["sr_subscribe"], got["curl -Z"].of("per second of seconds")
	return []finding{
		{what: "files/s from process start", ours: own.of("per second of seconds"), anchor: anchor, versus: "curl -Z", goal: goal{least: 6000}},
		{what: "files/s from the first taken", ours: own.of("per second of running"), anchor: anchor, versus: "curl -Z"},
		{what: "peak RSS, MiB", ours: own.of("peak MiB")},
	}, nil
}

// subscribeDisk: the same to the disk, made durable in groups or left to the
// kernel, beside curl and sync.
func subscribeDisk(ctx context.Context, b *bed) ([]finding, error) {
	h, err := b.load(ctx, b.of(fetchFiles), fetchSize, b.disk)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(h.src)
	got, err := play(ctx, b.rounds,
		contender{"group", func(ctx context.Context) (sample, error) { return h.subscribed(ctx, "group") }},
		contender{"off", func(ctx context.Context) (sample, error) { return h.subscribed(ctx, "off") }},
		contender{"piped group", func(ctx context.Context) (sample, error) { return h.piped(ctx, "group") }},
		contender{"piped off", func(ctx context.Context) (sample, error) { return h.piped(ctx, "off") }},
		contender{"curl", func(ctx context.Context) (sample, error) { return h.curled(ctx, true) }})
	if err != nil {
		return nil, err
	}
	anchor, versus := got["curl"].of("per second of seconds"), "curl -Z, then sync -f"
	return []finding{
		{what: "files/s, fsync group", ours: got["group"].of("per second of seconds"), anchor: anchor, versus: versus, goal: goal{ratio: true, least: 0.9}},
		{what: "the same from the first taken", ours: got["group"].of("per second of running"), anchor: anchor, versus: versus},
		{what: "files/s, fsync off", ours: got["off"].of("per second of seconds"), anchor: anchor, versus: versus, goal: goal{ratio: true, least: 0.9}},
		{what: "the same from the first taken", ours: got["off"].of("per second of running"), anchor: anchor, versus: versus},
		{what: "files/s, fsync group, from a pipe", ours: got["piped group"].of("per second of seconds"), anchor: anchor, versus: versus},
		{what: "files/s, fsync off, from a pipe", ours: got["piped off"].of("per second of seconds"), anchor: anchor, versus: versus},
	}, nil
}
