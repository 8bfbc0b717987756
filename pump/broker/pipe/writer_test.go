package pipe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strconv"
	"testing"

	"srpump/pump/broker"
)

// publisher is one end of a pipe; its reader is the other.
func publisher(t *testing.T, window int) (broker.Publisher, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	p, err := New(nil, w, slog.New(slog.DiscardHandler)).Publisher(t.Context(), broker.PublishOptions{Window: window})
	if err != nil {
		t.Fatal(err)
	}
	return p, r
}

// What is published is confirmed in order and read in order.
func TestOrder(t *testing.T) {
	p, r := publisher(t, 0)
	const n = 5000
	var confirmed []int
	go func() {
		for i := range n {
			if err := p.Publish(t.Context(), broker.Publishing{Key: strconv.Itoa(i), Body: []byte("b \n")}, func(err error) {
				if err == nil {
					confirmed = append(confirmed, i)
				}
			}); err != nil {
				t.Error(err)
			}
		}
	}()
	in := json.NewDecoder(r)
	for i := range n {
		var line []any
		if err := in.Decode(&line); err != nil || line[0] != strconv.Itoa(i) || line[2] != "b" {
			t.Fatalf("line %d is %v, %v", i, line, err)
		}
	}
	if err := errors.Join(p.Flush(t.Context()), p.Close()); err != nil {
		t.Fatal(err)
	}
	for i, k := range confirmed {
		if i != k {
			t.Fatalf("confirm %d was of %d", i, k)
		}
	}
	if len(confirmed) != n {
		t.Errorf("%d of %d confirmed", len(confirmed), n)
	}
}

// A header that JSON cannot hold fails alone.
func TestUnwritable(t *testing.T) {
	p, r := publisher(t, 0)
	go io.Copy(io.Discard, r)
	ends := make(chan error, 2)
	for _, h := range []map[string]any{{"f": func() {}}, nil} {
		if err := p.Publish(t.Context(), broker.Publishing{Key: "k", Headers: h}, func(err error) { ends <- err }); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if bad, good := <-ends, <-ends; bad == nil || good != nil {
		t.Errorf("ended with %v and %v", bad, good)
	}
}

// A reader that stands still holds up nobody for ever: Publish ends with its context or with
// Close, and Close fails what was not written, once each.
func TestReaderStandsStill(t *testing.T) {
	const window = 256
	p, r := publisher(t, window)
	body := bytes.Repeat([]byte("x"), 1<<20) // more than the pipe holds: nothing is ever written whole
	calls := make(map[int]int)
	publish := func(ctx context.Context, i int) error {
		return p.Publish(ctx, broker.Publishing{Key: "k", Body: body}, func(err error) {
			calls[i]++
			if !errors.Is(err, broker.ErrClosed) {
				t.Errorf("done of %d told %v", i, err)
			}
		})
	}
	for i := range window {
		if err := publish(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped, closed := make(chan error), make(chan error)
	go func() { stopped <- publish(ctx, window) }()
	go func() { closed <- publish(t.Context(), window) }()
	stop()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Errorf("Publish ended with %v", err)
	}
	if err := p.Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Flush ended with %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-closed; !errors.Is(err, broker.ErrClosed) {
		t.Errorf("the other Publish ended with %v", err)
	}
	r.Close() // wakes the write, which has nobody left to tell
	<-p.(*writer).ended
	for i := range window + 1 {
		if want := min(1, window-i); calls[i] != want {
			t.Errorf("done of %d called %d times, not %d", i, calls[i], want)
		}
	}
}
