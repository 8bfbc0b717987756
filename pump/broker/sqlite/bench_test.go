package sqlite

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"srpump/pump/broker"
)

// benchBody and benchHeaders are of the size of a v02 announcement.
var benchBody = []byte("20260101120000.123456789 http://localhost:8000/ some/where/of/usual/length/file_000001.txt\n")

func benchPublishing() broker.Publishing {
	return broker.Publishing{
		Exchange: "xpublic", Key: "v02.post.some.where.of.usual.length", Body: benchBody,
		Headers: map[string]any{"sum": "d,5d41402abc4b2a76b9719d911017c592", "parts": "1,1024,1,0,0", "mode": "644",
			"mtime": "20260101120000", "atime": "20260101120000", "from_cluster": "localhost", "to_clusters": "ALL"},
		ContentType: "text/plain",
	}
}

func benchQueue(b *testing.B, c broker.Conn) {
	b.Helper()
	ctx := b.Context()
	err := c.DeclareExchange(ctx, broker.Exchange{Name: "xpublic"})
	if err == nil {
		_, err = c.DeclareQueue(ctx, broker.Queue{Name: "q", Args: map[string]any{"x-max-length": int64(1 << 30)}})
	}
	if err == nil {
		err = c.Bind(ctx, broker.Binding{Queue: "q", Exchange: "xpublic", Pattern: "v02.post.#"})
	}
	if err != nil {
		b.Fatal(err)
	}
}

func benchPublish(b *testing.B, c broker.Conn, n int) {
	p, err := c.Publisher(b.Context(), broker.PublishOptions{})
	if err != nil {
		b.Error(err)
		return
	}
	defer p.Close()
	for range n {
		if err := p.Publish(b.Context(), benchPublishing(), nil); err != nil {
			b.Error(err)
		}
	}
	if err := p.Flush(b.Context()); err != nil {
		b.Error(err)
	}
}

func benchConsume(b *testing.B, c broker.Conn, n int) {
	k, err := c.Consume(b.Context(), "q", broker.ConsumeOptions{Prefetch: 500})
	if err != nil {
		b.Error(err)
		return
	}
	defer k.Close()
	for range n {
		d, err := k.Next(b.Context())
		if err == nil {
			err = k.Ack(d.Tag)
		}
		if err != nil {
			b.Error(err)
			return
		}
	}
}

func rate(b *testing.B, what string) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), what+"/s")
}

func BenchmarkPublish(b *testing.B) {
	c := openTest(b, filepath.Join(b.TempDir(), "pump.db"))
	defer c.Close()
	benchQueue(b, c)
	b.ResetTimer()
	benchPublish(b, c, b.N)
	rate(b, "publishings")
}

func BenchmarkConsume(b *testing.B) {
	c := openTest(b, filepath.Join(b.TempDir(), "pump.db"))
	defer c.Close()
	benchQueue(b, c)
	benchPublish(b, c, b.N)
	b.ResetTimer()
	benchConsume(b, c, b.N)
	rate(b, "deliveries")
}

func BenchmarkThrough(b *testing.B) {
	path := filepath.Join(b.TempDir(), "pump.db")
	in, out := openTest(b, path), openTest(b, path)
	defer in.Close()
	defer out.Close()
	benchQueue(b, in)
	b.ResetTimer()
	var wg sync.WaitGroup
	wg.Go(func() { benchPublish(b, in, b.N) })
	wg.Go(func() { benchConsume(b, out, b.N) })
	wg.Wait()
	rate(b, "through")
}

// BenchmarkConnections is many connections on one file, each publishing its share.
func BenchmarkConnections(b *testing.B) {
	for _, n := range []int{10, 50} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "pump.db")
			conns := make([]broker.Conn, n)
			for i := range conns {
				conns[i] = openTest(b, path)
				defer conns[i].Close()
			}
			benchQueue(b, conns[0])
			b.ResetTimer()
			var wg sync.WaitGroup
			for _, c := range conns {
				wg.Go(func() { benchPublish(b, c, b.N/n+1) })
			}
			wg.Wait()
			rate(b, "publishings")
		})
	}
}

// BenchmarkOpen is what a cold command pays for a file that exists.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "pump.db")
	openTest(b, path).Close()
	for b.Loop() {
		openTest(b, path).Close()
	}
}
