package pump

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/broker/sqlite"
	"srpump/pump/config"
)

// BenchmarkWinnow: what a flow that moves no files costs for each announcement, on the
// local broker, a third of them fresh.
func BenchmarkWinnow(b *testing.B) {
	dir := b.TempDir()
	db := dir + "/pump.db"
	host := &Host{Log: slog.New(slog.DiscardHandler), Cwd: dir, Database: db, Version: "test", Now: time.Now}
	words, _, err := config.NormalizeArgs([]string{"-exchange", "xin", "-post_exchange", "xout"})
	if err != nil {
		b.Fatal(err)
	}
	cfg, problems := config.Load(config.Request{Env: config.Env{Home: dir, Cwd: dir}, Preset: config.Winnow, Args: words})
	if config.Failed(problems) {
		b.Fatal(problems)
	}
	fill(b, db, b.N)
	f, err := NewFlow(cfg, host)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	b.ReportAllocs()
	b.ResetTimer()
	go func() { ended <- f.Run(ctx) }()
	for f.Counters.Announced.Load()+f.Counters.Winnowed.Load() < int64(b.N) {
		time.Sleep(time.Millisecond)
	}
	b.StopTimer()
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

// fill puts n announcements into the queue of sr_winnow, three of each file.
func fill(b *testing.B, db string, n int) {
	ctx := context.Background()
	c, err := sqlite.Open(ctx, "sqlite://"+db, broker.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	const queue = "q_local.sr_winnow.default"
	for _, x := range []string{"xin", "xout"} {
		if err := c.DeclareExchange(ctx, broker.Exchange{Name: x}); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := c.DeclareQueue(ctx, broker.Queue{Name: queue}); err != nil {
		b.Fatal(err)
	}
	if err := c.Bind(ctx, broker.Binding{Queue: queue, Exchange: "xin", Pattern: "v02.post.#"}); err != nil {
		b.Fatal(err)
	}
	pub, err := c.Publisher(ctx, broker.PublishOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer pub.Close()
	for i := range n {
		a := announced(fmt.Sprintf("http://source%d/", i%3), fmt.Sprintf("some/dir/file%d.dat", i/3), fmt.Sprint(i/3), 1700000000)
		a.Headers = map[string]any{"mode": "644", "mtime": "20260101000000.25", "atime": "20260101000000.25", "source": "x", "from_cluster": "y", "to_clusters": "z"}
		m, err := post.EncodeV02(a)
		if err != nil {
			b.Fatal(err)
		}
		if err := pub.Publish(ctx, broker.Publishing{Exchange: "xin", Key: m.Topic, Headers: m.Headers, Body: m.Body}, func(error) {}); err != nil {
			b.Fatal(err)
		}
	}
	if err := pub.Flush(ctx); err != nil {
		b.Fatal(err)
	}
}
