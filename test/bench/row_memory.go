package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	memoryFiles  = 4
	hugeFile     = 10 << 30
	memoryRounds = 2 // a peak hardly differs from run to run
)

// A spread is some sparse files and where they are served.
type spread struct {
	b    *bed
	dir  string
	n    int
	base map[string]string // URL of dir by scheme
	home string            // that trusts the servers
}

// spread makes n sparse files of a size, served over HTTP and SFTP.
func (b *bed) spread(s *sshd, n, size int) (*spread, error) {
	if err := b.serve(); err != nil {
		return nil, err
	}
	dir, err := b.fresh(b.fast)
	if err != nil {
		return nil, err
	}
	for i := range n {
		name := filepath.Join(dir, fmt.Sprintf("f%06d", i))
		if err := errors.Join(os.WriteFile(name, nil, 0o644), os.Truncate(name, int64(size))); err != nil {
			return nil, err
		}
	}
	base := map[string]string{"HTTP": b.web.url + "/" + filepath.Base(dir) + "/", "SFTP": s.url + dir + "/"}
	return &spread{b: b, dir: dir, n: n, base: base, home: s.home}, nil
}

// peak is the most memory sr_subscribe has had resident when it has fetched all files, with so many workers.
func (p *spread) peak(ctx context.Context, scheme string, workers int) (sample, error) {
	list, _, err := p.b.finish(ctx, p.b.program("sr_post"), "-pb", "-", "-pbu", p.base[scheme], "-pbd", p.dir, "-sum", "0", "-loglevel", "warning", "-p", p.dir)
	if err != nil {
		return nil, err
	}
	into, err := p.b.fresh(p.b.disk)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(into)
	n := strconv.Itoa(workers)
	cmd := p.b.command(ctx, p.b.program("sr_subscribe"), "foreground", "-b", "-", "-directory", into, "-fsync", "off", "-loglevel", "warning", "-instances", n, "-host_workers", n)
	cmd.Env = append(cmd.Environ(), "HOME="+p.home, "XDG_CONFIG_HOME="+filepath.Join(p.home, ".config"))
	cmd.Stdin = strings.NewReader(list)
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot fetch over %s: %w: %s", scheme, err, tail(said))
	}
	if came, err := os.ReadDir(into); err != nil || len(came) != p.n {
		return nil, fmt.Errorf("%d of %d files arrived: %w", len(came), p.n, errors.Join(err, os.ErrNotExist))
	}
	used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return nil, errors.New("cannot tell the peak of a process here")
	}
	return sample{"MiB": float64(used.Maxrss) / 1024}, nil
}

// transferMemory: what one more worker takes, when four files come at once instead of one after the other; and
// whether a file ten times as large takes more.
func transferMemory(ctx context.Context, b *bed) (out []finding, err error) {
	s, err := b.ssh(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.program.stop()) }()
	several, err := b.spread(s, memoryFiles, b.of(gib)/memoryFiles)
	if err != nil {
		return nil, err
	}
	one, err := b.spread(s, 1, b.of(gib))
	if err != nil {
		return nil, err
	}
	huge, err := b.spread(s, 1, b.of(hugeFile))
	if err != nil {
		return nil, err
	}
	for _, goal := range []struct {
		scheme string
		most   float64
	}{{"HTTP", 8}, {"SFTP", 24}} {
		found, err := memoryOf(ctx, goal.scheme, goal.most, min(b.rounds, memoryRounds), several, one, huge)
		if err != nil {
			return out, err
		}
		out = append(out, found...)
	}
	return out, nil
}

func memoryOf(ctx context.Context, scheme string, most float64, rounds int, several, one, huge *spread) ([]finding, error) {
	got, err := play(ctx, rounds,
		contender{"1 worker", func(ctx context.Context) (sample, error) { return several.peak(ctx, scheme, 1) }},
		contender{"4 workers", func(ctx context.Context) (sample, error) { return several.peak(ctx, scheme, memoryFiles) }},
		contender{"1 GiB", func(ctx context.Context) (sample, error) { return one.peak(ctx, scheme, 1) }})
	if err != nil {
		return nil, err
	}
	large, err := huge.peak(ctx, scheme, 1) // once: it takes long
	if err != nil {
		return nil, err
	}
	single, all := got["1 worker"].of("MiB"), got["4 workers"].of("MiB")
	each := make([]float64, len(all))
	for i := range all {
		each[i] = (all[i] - single[i]) / (memoryFiles - 1)
	}
	return []finding{
		{what: "MiB peak, " + scheme + ", 4 workers", ours: all, anchor: single, versus: "1 worker"},
		{what: "MiB for one more worker, " + scheme, ours: each, goal: goal{most: most}},
		{what: "MiB peak, " + scheme + ", 10 GiB", ours: []float64{large["MiB"]}, anchor: got["1 GiB"].of("MiB"), versus: "1 GiB", goal: goal{ratio: true, most: 1.1}},
	}, nil
}
