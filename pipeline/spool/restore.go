package spool

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"

	"srpump/pump/broker"
)

// fromStdin is the name of the segment that is standard input.
const fromStdin = "-"

// rememberEvery is after how many lines it is written down how far a segment is restored.
const rememberEvery = 1000

// restore publishes the messages of segments again, in their order.
func (s *Spooler) restore(ctx context.Context) (err error) {
	paths := s.set.paths
	if len(paths) == 0 {
		if paths, _, err = segments(s.set.dir); err != nil {
			return err
		}
	}
	conn, err := s.host.Open(ctx, s.set.to, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := s.declare(ctx, conn); err != nil {
		return err
	}
	pub, err := conn.Publisher(ctx, broker.PublishOptions{Window: outWindow})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pub.Close()) }()
	s.host.Log.Info("spooling", "direction", "restore", "exchange", s.set.publish.Exchange, "directory", s.set.dir)
	s.host.Ready()
	for _, path := range paths {
		if path != fromStdin && !filepath.IsAbs(path) {
			path = filepath.Join(s.host.Cwd, path)
		}
		r := &restoring{Spooler: s, path: path, pub: pub}
		if err := r.run(ctx); err != nil {
			return fmt.Errorf("cannot restore %q: %w", path, err)
		}
	}
	return nil
}

// A restoring is one segment on its way back.
type restoring struct {
	*Spooler
	path   string
	pub    broker.Publisher
	memory string // file that remembers how far it is; empty for standard input
	bytes  atomic.Int64
	lost   atomic.Pointer[error] // the first refusal
}

// run goes on where an earlier run came to: every line before that is confirmed.
func (r *restoring) run(ctx context.Context) error {
	in, done, err := r.open()
	if err != nil {
		return err
	}
	defer in.Close()
	lines, err := unzip(in)
	if err != nil {
		return err
	}
	n, published := int64(0), int64(0)
	for r.lost.Load() == nil && lines.Scan() {
		if n++; n <= done {
			continue
		}
		sent, err := r.line(ctx, lines.Bytes())
		if err != nil {
			return errors.Join(fmt.Errorf("line %d: %w", n, err), r.confirm(ctx, n-1))
		}
		if sent {
			published++
		}
		if n%rememberEvery == 0 || r.bytes.Load() > outBytes {
			if err := r.confirm(ctx, n); err != nil {
				return err
			}
		}
	}
	if err := r.confirm(ctx, n); err != nil {
		return err
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("after line %d: %w", n, err)
	}
	r.host.Log.Info("restored", "file", r.path, "messages", published, "lines", n, "before", done)
	return nil
}

// open finds the segment, and how many of its lines are done.
func (r *restoring) open() (in io.ReadCloser, done int64, err error) {
	if r.path == fromStdin {
		return io.NopCloser(r.host.Stdin), 0, nil
	}
	f, err := os.Open(r.path)
	if err != nil {
		return nil, 0, cause(err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	id := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", r.set.target, r.set.publish.Exchange, r.path, info.Size()))
	r.memory = filepath.Join(r.set.memory, hex.EncodeToString(id[:16]))
	text, err := os.ReadFile(r.memory)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && r.set.again:
		return f, 0, nil
	case err == nil:
		done, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("cannot read how far it is: %w", err), f.Close())
	}
	return f, done, nil
}

// unzip reads compressed and plain lines.
func unzip(in io.Reader) (*bufio.Scanner, error) {
	raw := bufio.NewReaderSize(in, 256<<10)
	plain := io.Reader(raw)
	if magic, err := raw.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		if plain, err = gzip.NewReader(raw); err != nil {
			return nil, err
		}
	}
	lines := bufio.NewScanner(plain)
	lines.Buffer(make([]byte, 256<<10), maxLine)
	return lines, nil
}

// maxLine bounds a line, in bytes: JSON makes at most six of a byte of a body.
const maxLine = 6*maxBody + maxMeta

// line publishes one, if it is among those that are asked for.
func (r *restoring) line(ctx context.Context, text []byte) (bool, error) {
	p, at, err := decodeLine(text)
	if err != nil {
		return false, err
	}
	if !r.set.since.IsZero() && at.Before(r.set.since) || !r.set.until.IsZero() && !at.Before(r.set.until) || !r.set.wants(p.Key) {
		return false, nil
	}
	if r.set.publish.Exchange != "" {
		p.Exchange = r.set.publish.Exchange
	}
	p.Mandatory = r.set.publish.Mandatory
	r.counters.received.Add(1)
	size := int64(len(p.Body))
	r.bytes.Add(size)
	return true, r.pub.Publish(ctx, p, func(err error) {
		if err != nil {
			r.lost.CompareAndSwap(nil, &err)
			r.counters.failed.Add(1)
			return
		}
		r.counters.done.Add(1)
		r.counters.bytes.Add(size)
	})
}

// confirm waits until the first n lines are with the broker, and remembers that.
func (r *restoring) confirm(ctx context.Context, n int64) error {
	if err := r.pub.Flush(ctx); err != nil {
		return err
	}
	r.bytes.Store(0)
	if lost := r.lost.Load(); lost != nil {
		return *lost
	}
	if r.memory == "" {
		return nil
	}
	if err := os.MkdirAll(r.set.memory, 0o775); err != nil {
		return fmt.Errorf("cannot remember how far it is: %w", err)
	}
	if err := Replace(r.memory, []byte(strconv.FormatInt(n, 10)+"\n"), 0o644); err != nil {
		return fmt.Errorf("cannot remember how far it is: %w", err)
	}
	return nil
}
