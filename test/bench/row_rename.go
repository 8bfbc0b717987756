package main

import (
	"context"
	"crypto/md5"
	"crypto/sha512"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"

	amqp "github.com/rabbitmq/amqp091-go"
)

const renames = 10_000

// renameRow: sr_subscribe repeats renames, and asks the server for nothing.
func renameRow(ctx context.Context, b *bed) ([]finding, error) {
	if err := b.broker(); err != nil {
		return nil, err
	}
	if err := b.tap.exchange("xs_fetch"); err != nil {
		return nil, err
	}
	h := &haul{b: b, n: b.of(renames)}
	if err := b.declareBy(ctx, "sr_subscribe", "q_fetch", func(state string) []string { return h.args(state, state, "off") }); err != nil {
		return nil, err
	}
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		requests.Add(1)
		http.NotFound(w, q)
	}))
	defer s.Close()
	got, err := play(ctx, b.rounds, contender{"sr_subscribe", func(ctx context.Context) (sample, error) {
		requests.Store(0)
		out, err := h.renamed(ctx, s.URL)
		if err != nil {
			return nil, err
		}
		out["requests"] = float64(requests.Load())
		return out, nil
	}})
	if err != nil {
		return nil, err
	}
	own := got["sr_subscribe"]
	return []finding{
		{what: "renames/s from the first taken", ours: own.of("per second")},
		{what: "requests", ours: own.of("requests"), goal: goal{most: 0.5}},
	}, nil
}

// renamed times sr_subscribe from the first announcement it takes to the last rename made durable and
// acknowledged.
func (h *haul) renamed(ctx context.Context, base string) (sample, error) {
	state, err := h.b.fresh(h.b.disk)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(state)
	dir, err := h.b.tree(h.b.disk, h.n, 100)
	if err != nil {
		return nil, err
	}
	defer h.b.remove(dir, h.n)
	all, keys, err := h.moves(dir, base)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(h.b.tap.purge("q_fetch"), h.b.tap.send("xs_fetch", all, keys), h.b.settle(ctx, h.b.disk)); err != nil {
		return nil, err
	}
	r, err := h.b.start(ctx, h.b.program("sr_subscribe"), h.args(state, dir, "group")...)
	if err != nil {
		return nil, err
	}
	p, err := h.b.gauge.pass(ctx, r, "q_fetch", len(all))
	if err := errors.Join(err, r.stop()); err != nil {
		return nil, err
	}
	for i := range h.n {
		if _, err := os.Lstat(filepath.Join(dir, fmt.Sprintf("g%06d", i))); err != nil {
			return nil, fmt.Errorf("a file was not renamed: %w", err)
		}
	}
	return sample{"per second": float64(h.n) / p.last.Sub(p.first).Seconds()}, nil
}

// moves are the two halves of the rename of each file of a tree, as sr_watch announces them.
func (h *haul) moves(dir, base string) (all []amqp.Publishing, keys []string, err error) {
	add := func(name string, headers amqp.Table) {
		all = append(all, amqp.Publishing{ContentType: "text/plain", DeliveryMode: amqp.Persistent, Headers: headers,
			Body: fmt.Appendf(nil, "20261121083703.668336075 %s/ %s \n", base, name)})
		keys = append(keys, "v02.post."+name)
	}
	for i := range h.n {
		old, name := fmt.Sprintf("f%06d", i), fmt.Sprintf("g%06d", i)
		content, err := os.ReadFile(filepath.Join(dir, old))
		if err != nil {
			return nil, nil, err
		}
		add(old, amqp.Table{"sum": fmt.Sprintf("R,%x", sha512.Sum512([]byte(old))), "newname": name})
		add(name, amqp.Table{"sum": fmt.Sprintf("d,%x", md5.Sum(content)), "oldname": old, "parts": fmt.Sprintf("1,%d,1,0,0", len(content))})
	}
	return all, keys, nil
}
