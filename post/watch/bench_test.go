package watch

import (
	"fmt"
	"io/fs"
	"os"
	"testing"
)

// BenchmarkWalk walks 100,000 entries in one directory and in many.
func BenchmarkWalk(b *testing.B) {
	root := b.TempDir()
	for i := range 100_000 {
		dir := root + "/flat"
		if i%2 == 1 {
			dir = fmt.Sprintf("%s/many/%03d", root, i%1000)
		}
		if i < 1000 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		f, err := os.Create(fmt.Sprintf("%s/%d", dir, i))
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
	for _, info := range []bool{false, true} {
		b.Run(fmt.Sprintf("info=%v", info), func(b *testing.B) {
			b.ReportAllocs()
			entries := 0
			for b.Loop() {
				err := Walk(b.Context(), []string{root}, WalkOptions{NeedInfo: info},
					func(string, fs.FileInfo) error { entries++; return nil })
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(entries)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}
