package fetch

import (
	"context"
	"io"
	"sync"
	"time"
)

// A Pace is how many bytes a second all transfers that share it may take
// together (sr_options(5), kbytes_ps). What is taken is paid for afterwards, by
// waiting; a pause earns nothing, so that a burst never follows it.
type Pace struct {
	rate int64 // bytes a second
	now  func() time.Time
	wait func(context.Context, time.Duration) error

	mu   sync.Mutex
	paid time.Time // when all that was taken is paid for
}

// NewPace makes a pace of so many bytes a second; 0 or less is no limit, and nil.
func NewPace(rate int64) *Pace {
	if rate <= 0 {
		return nil
	}
	return &Pace{rate: rate, now: time.Now, wait: wait}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Reader holds back what is read from r. A nil pace gives r itself.
func (p *Pace) Reader(ctx context.Context, r io.Reader) io.Reader {
	if p == nil {
		return r
	}
	return &pacedReader{r, p, ctx}
}

// portion is the most to read at once: a quarter of a second's bytes, so that waits are short.
func (p *Pace) portion() int64 { return max(1, min(p.rate/4, smallBuffer)) }

// take waits until n bytes more are paid for.
func (p *Pace) take(ctx context.Context, n int) error {
	p.mu.Lock()
	now := p.now()
	if p.paid.Before(now) {
		p.paid = now
	}
	p.paid = p.paid.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
	d := p.paid.Sub(now)
	p.mu.Unlock()
	return p.wait(ctx, d)
}

type pacedReader struct {
	io.Reader
	pace *Pace
	ctx  context.Context
}

func (r *pacedReader) Read(b []byte) (int, error) {
	b = b[:min(int64(len(b)), r.pace.portion())]
	n, err := r.Reader.Read(b)
	if n > 0 {
		if werr := r.pace.take(r.ctx, n); werr != nil {
			return n, werr
		}
	}
	return n, err
}
