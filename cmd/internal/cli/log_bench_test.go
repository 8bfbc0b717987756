package cli

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"srpump/post"
	"srpump/pump"
	"srpump/pump/retry"
)

type announced struct {
	m post.Message
	a *post.Announcement
}

func (l announced) OldLine() string { return "post_log notice=" + retry.LogWords(l.m, l.a.Path) }

// What the log of v02 costs for each announcement, the write to a file included.
func BenchmarkAnnouncedLine(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	log := newLog(f, slog.LevelInfo, oldFormat)
	a := &post.Announcement{Topic: "v02.post.2026.radar.CASET", Base: "http://pump.example/", Path: "2026/radar/CASET/20261121_0420_CASET_PRECIP.gif",
		Headers: map[string]any{"mode": "644", "mtime": "20261121042737.618", "atime": "20261121042737.618", "to_clusters": "DD", "from_cluster": "DD", "source": "metpx"}}
	m, err := post.EncodeV02(a)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		log.Log(context.Background(), pump.LevelEach, "announced", "topic", a.Topic, "path", a.Path, pump.OldLineKey, announced{m, a})
	}
}
