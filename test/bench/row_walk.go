package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	walkEntries = 1_000_000
	walkPerDir  = 1_000
	// watchEvery is how often the memory of a walk is looked at.
	watchEvery = 50 * time.Millisecond
)

// walkMillion: sr_post of a great tree, without sums, to a pipe.
func walkMillion(ctx context.Context, b *bed) ([]finding, error) {
	root, err := b.fresh(b.fast)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	n := b.of(walkEntries)
	if err := emptyFiles(root, n); err != nil {
		return nil, err
	}
	got, err := play(ctx, b.rounds, contender{"sr_post", func(ctx context.Context) (sample, error) { return b.walked(ctx, root, n) }})
	if err != nil {
		return nil, err
	}
	own := got["sr_post"]
	return []finding{
		{what: "ms to the first line", ours: own.of("first ms"), goal: goal{most: 100}},
		{what: "peak RSS, MiB", ours: own.of("peak MiB"), goal: goal{most: 60}},
		{what: "RSS at half, MiB", ours: own.of("half MiB")},
		{what: "entries/s", ours: own.of("per second")},
	}, nil
}

// emptyFiles makes n files, walkPerDir in a directory.
func emptyFiles(root string, n int) error {
	dir := ""
	for i := range n {
		if i%walkPerDir == 0 {
			dir = filepath.Join(root, fmt.Sprintf("d%04d", i/walkPerDir))
			if err := os.Mkdir(dir, 0o755); err != nil {
				return err
			}
		}
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("f%06d", i)))
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// walked reads what sr_post prints, as fast as it does.
func (b *bed) walked(ctx context.Context, root string, n int) (sample, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := b.command(ctx, b.program("sr_post"), "-pb", "-", "-sum", "0", "-pbu", "file:", "-loglevel", "warning",
		"-state_dir", filepath.Join(b.disk, "state"), "-p", root)
	var complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &complaint
	start := time.Now()
	err = cmd.Start()
	w.Close()
	if err != nil {
		return nil, err
	}
	seen := &lines{since: start, half: n / 2}
	var watching sync.WaitGroup
	over := make(chan struct{})
	m := &memory{program: &running{cmd: cmd}}
	watching.Go(func() { m.watch(over, seen) })
	err = seen.read(r)
	close(over)
	watching.Wait()
	took := time.Since(start)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("%w: %s", err, tail(complaint.Bytes()))
	}
	if seen.total() < n {
		return nil, fmt.Errorf("%d of %d entries were announced", seen.total(), n)
	}
	return sample{"first ms": float64(seen.first) / float64(time.Millisecond), "per second": float64(n) / took.Seconds(),
		"half MiB": m.half, "peak MiB": m.peak}, nil
}

// lines counts what is read.
type lines struct {
	since time.Time
	half  int

	first time.Duration // when the first line was whole
	mu    sync.Mutex
	n     int
}

func (l *lines) read(r io.Reader) error {
	in := bufio.NewReaderSize(r, 1<<16)
	for buf := make([]byte, 1<<16); ; {
		k, err := in.Read(buf)
		if c := bytes.Count(buf[:k], []byte{'\n'}); c > 0 {
			l.mu.Lock()
			if l.n == 0 {
				l.first = time.Since(l.since)
			}
			l.n += c
			l.mu.Unlock()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (l *lines) total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// memory is what a program holds, in MiB.
type memory struct {
	program    *running
	half, peak float64 // when half of its lines were read; at most
}

// watch looks until over is closed; the kernel keeps the peak in between.
func (m *memory) watch(over <-chan struct{}, seen *lines) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		m.peak = max(m.peak, m.program.resident("VmHWM"))
		if m.half == 0 && seen.total() >= seen.half {
			m.half = m.program.resident("VmRSS")
		}
	}
}
