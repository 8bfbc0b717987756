package transfertest

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"srpump/pump/transfer"
)

func whole(t *testing.T, b *bench) {
	data := pattern(300_000)
	got, body, err := b.read(t, transfer.Whole(b.put(t, "whole", data)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, data)
	if body.Size != int64(len(data)) {
		t.Errorf("size is %d, want %d", body.Size, len(data))
	}
	if body.Validator == (transfer.Validator{}) {
		t.Error("nothing tells this state of the file from another")
	}
}

func empty(t *testing.T, b *bench) {
	got, body, err := b.read(t, transfer.Whole(b.put(t, "empty", nil)))
	if err != nil || len(got) != 0 || body.Size != 0 {
		t.Errorf("got %d bytes of %+v, %v", len(got), body, err)
	}
}

func ranges(t *testing.T, b *bench) {
	data := pattern(100_000)
	url := b.put(t, "ranges", data)
	for _, r := range []struct{ off, n int64 }{
		{0, 1}, {0, 50_000}, {0, 100_000}, {1, 99_999}, {99_999, 1}, {33, 0}, {70_000, -1}, {40_000, 20_000},
	} {
		got, body, err := b.read(t, transfer.Request{URL: url, Offset: r.off, Length: r.n})
		if err != nil {
			t.Errorf("%d+%d: %v", r.off, r.n, err)
			continue
		}
		end := r.off + r.n
		if r.n < 0 {
			end = int64(len(data))
		}
		same(t, got, data[r.off:end])
		if body.Size != end-r.off {
			t.Errorf("%d+%d: size is %d", r.off, r.n, body.Size)
		}
	}
}

func rangeOutside(t *testing.T, b *bench) {
	url := b.put(t, "short", pattern(1000))
	for _, r := range []struct{ off, n int64 }{{1001, 10}, {990, 11}, {0, 1001}, {-1, 5}, {1 << 62, 1 << 62}} {
		_, _, err := b.read(t, transfer.Request{URL: url, Offset: r.off, Length: r.n})
		want(t, err, transfer.Range)
	}
}

func missing(t *testing.T, b *bench) {
	_, _, err := b.read(t, transfer.Whole(b.URL(b.Addr, "no such file")))
	want(t, err, transfer.NotFound)
}

func directory(t *testing.T, b *bench) {
	if err := os.MkdirAll(filepath.Join(b.Dir, "directory"), 0o755); err != nil {
		t.Fatal(err)
	}
	if body, err := b.get.Get(t.Context(), transfer.Whole(b.URL(b.Addr, "directory"))); err == nil {
		body.Close()
		t.Error("a directory was given as a file")
	}
}

func names(t *testing.T, b *bench) {
	for _, name := range []string{
		"with blank", "a#b", "a%20b", "a%b", "a?b=c", "a+b", "été-ß-雪", "semi;colon", "q\"uote'", "co:lon", "-dash", "back\\slash", "a&b", "[x]", "\xff\xfe",
	} {
		got, _, err := b.read(t, transfer.Whole(b.put(t, name, []byte("this is "+name))))
		if err != nil || string(got) != "this is "+name {
			t.Errorf("%q: got %q, %v", name, got, err)
		}
	}
}

func together(t *testing.T, b *bench) {
	data := pattern(50_000)
	url := b.put(t, "together", data)
	var wg sync.WaitGroup
	for i := range int64(8) {
		wg.Go(func() {
			for off := i * 100; off < 40_000; off += 10_000 {
				got, _, err := b.read(t, transfer.Request{URL: url, Offset: off, Length: 5000})
				if err != nil {
					t.Error(err)
					return
				}
				same(t, got, data[off:off+5000])
			}
		})
	}
	wg.Wait()
}

func cancelledBefore(t *testing.T, b *bench) {
	url := b.put(t, "cancelled", pattern(10))
	ctx, cancel := background(t)
	cancel()
	body, err := b.get.Get(ctx, transfer.Whole(url))
	if err == nil { // a scheme may notice at the first read only
		_, err = io.ReadAll(body)
		body.Close()
	}
	want(t, err, transfer.Cancelled)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not context.Canceled", err)
	}
}

func cancelledMidway(t *testing.T, b *bench) {
	body, cancel := b.half(t)
	cancel()
	_, err := io.Copy(io.Discard, struct{ io.Reader }{body})
	want(t, err, transfer.Cancelled)
}

// closedMidway gives up a transfer; the Getter serves the next all the same.
func closedMidway(t *testing.T, b *bench) {
	body, cancel := b.half(t)
	defer cancel()
	body.Close()
	data := pattern(1000)
	got, _, err := b.read(t, transfer.Whole(b.put(t, "after", data)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, data)
}

// half starts to read a file larger than all buffers on its way.
func (b *bench) half(t *testing.T) (*transfer.Body, context.CancelFunc) {
	t.Helper()
	url := b.put(t, "half", nil)
	if err := os.Truncate(filepath.Join(b.Dir, "half"), 64<<20); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := background(t)
	body, err := b.get.Get(ctx, transfer.Whole(url))
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { body.Close() })
	if _, err := io.ReadFull(body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	return body, cancel
}

// reset cuts the connection at every tenth of the file.
func reset(t *testing.T, b *bench) {
	if b.Addr == "" {
		t.Skip("no connection to cut")
	}
	data := pattern(1 << 20)
	b.put(t, "reset", data)
	for tenth := range 10 {
		b.cutAt(t, int64(len(data)*tenth/10))
	}
}

func (b *bench) cutAt(t *testing.T, after int64) {
	t.Helper()
	addr := b.relay(t, after, (*link).cut)
	_, _, err := b.read(t, transfer.Whole(b.URL(addr, "reset")))
	want(t, err, transfer.Temporary)
}

func stalled(t *testing.T, b *bench) {
	if b.Addr == "" {
		t.Skip("no connection to stall")
	}
	b.get.Close()
	b.get = b.New(200 * time.Millisecond)
	data := pattern(1 << 20)
	b.put(t, "reset", data)
	for _, after := range []int64{0, 500_000} {
		addr := b.relay(t, after, (*link).stall)
		_, _, err := b.read(t, transfer.Whole(b.URL(addr, "reset")))
		want(t, err, transfer.Temporary)
	}
}
