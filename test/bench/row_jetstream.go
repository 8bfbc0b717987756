package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

const (
	jetstreamEvents = 300_000 // of some 600 bytes
	jetstreamBegin  = 1_790_000_000_000_000
)

// jetstreamRow: a stream of events over a WebSocket, as fast as they are taken, recorded by sfm_harvest; beside a
// bare client that puts them through gzip into a file.
func jetstreamRow(ctx context.Context, b *bed) ([]finding, error) {
	n := b.of(jetstreamEvents)
	hose, err := openHose(n)
	if err != nil {
		return nil, err
	}
	defer hose.close()
	got, err := play(ctx, b.rounds,
		contender{"sfm_harvest", func(ctx context.Context) (sample, error) { return b.harvested(ctx, hose) }},
		contender{"bare client", func(ctx context.Context) (sample, error) {
			dir, err := b.fresh(b.disk)
			if err != nil {
				return nil, err
			}
			defer b.remove(dir, 1)
			if _, _, err := b.finish(ctx, b.program("bare"), "listen", hose.url+"/subscribe", fmt.Sprint(n), filepath.Join(dir, "events.gz")); err != nil {
				return nil, err
			}
			return hose.rate(), nil
		}})
	if err != nil {
		return nil, err
	}
	own, bare := got["sfm_harvest"], got["bare client"]
	return []finding{
		{what: "events/s recorded", ours: own.of("events/s"), versus: "bare client", anchor: bare.of("events/s"), goal: goal{least: 5000}},
		{what: "peak RSS, MiB", ours: own.of("peak MiB")},
	}, nil
}

// harvested is one harvest: until all events are on the disk, with the cursor behind them, and none is missing.
func (b *bed) harvested(ctx context.Context, hose *hose) (sample, error) {
	dir, err := b.fresh(b.disk)
	if err != nil {
		return nil, err
	}
	defer b.remove(dir, 10)
	request := filepath.Join(dir, "request.json")
	text := fmt.Sprintf(`{"id":"bench","type":"bluesky_jetstream","path":%q,"options":{"api_base":%q,"flush":1},"collection":{"id":"c"},"collection_set":{"id":"s"}}`, dir, hose.url)
	if err := os.WriteFile(request, []byte(text), 0o600); err != nil {
		return nil, err
	}
	r, err := b.start(ctx, b.program("sfm_harvest"), "-l", request)
	if err != nil {
		return nil, err
	}
	err = hose.kept(ctx, r, dir)
	got := hose.rate()
	got["peak MiB"] = r.resident("VmHWM")
	if err = errors.Join(err, r.stop()); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", "*", "*.warc.gz"))
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("%d WARC files, %v", len(files), err)
	}
	return got, b.sameItems(ctx, files[0], hose.n)
}

// A hose is a Jetstream that sends so many events to all who come.
type hose struct {
	url    string
	n      int
	texts  []string
	server *http.Server
	began  atomic.Int64 // ns, of the last who came
}

func openHose(n int) (*hose, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &hose{url: "http://" + l.Addr().String(), n: n, texts: make([]string, 1000)}
	random := rand.New(rand.NewPCG(9, 10))
	for i := range h.texts {
		for range 30 {
			h.texts[i] += strconv.FormatUint(random.Uint64N(1<<(4+random.Uint64N(30))), 36) + " "
		}
	}
	h.server = &http.Server{Handler: http.HandlerFunc(h.pour), ReadHeaderTimeout: patience}
	go func() { _ = h.server.Serve(l) }() // it ends with close
	return h, nil
}

func (h *hose) close() { _ = h.server.Close() }

// at is the time_us of an event.
func (h *hose) at(i int) int64 { return jetstreamBegin + int64(i)*100 }

func (h *hose) pour(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer c.CloseNow()
	ctx := c.CloseRead(r.Context())
	h.began.Store(time.Now().UnixNano())
	var frame []byte
	for i := range h.n {
		frame = fmt.Appendf(frame[:0], `{"did":"did:plc:%024x","time_us":%d,"kind":"commit","commit":{"rev":"3l%011d","operation":"create","collection":"app.bsky.feed.post","rkey":"3k%011d",`+
			`"record":{"$type":"app.bsky.feed.post","createdAt":"2026-10-01T00:00:00.000Z","langs":["en"],"text":%q},"cid":"bafyrei%052x"}}`,
			i%5000, h.at(i), i, i, h.texts[i%len(h.texts)], uint64(i)*0x9e3779b97f4a7c15)
		if c.Write(ctx, websocket.MessageText, frame) != nil {
			return
		}
	}
	<-ctx.Done()
}

// rate is how fast all was taken, from when the last one came until now.
func (h *hose) rate() sample {
	return sample{"events/s": float64(h.n) / time.Since(time.Unix(0, h.began.Load())).Seconds()}
}

// kept waits until the cursor behind the last event is on the disk.
func (h *hose) kept(ctx context.Context, r *running, collection string) error {
	last := strconv.AppendInt(nil, h.at(h.n-1), 10)
	for {
		names, err := filepath.Glob(filepath.Join(collection, ".harvest", "*", "*.journal"))
		if err != nil {
			return err
		}
		for _, name := range names {
			if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, last) {
				return nil
			}
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-r.ended:
			return r.fault()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
