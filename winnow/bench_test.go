package winnow

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"srpump/post"
)

func numbered(a *post.Announcement, i int) *post.Announcement {
	a.Path = "20261121/source/data/file" + strconv.Itoa(i) + ".grib2"
	a.Sum = post.Fingerprint{Method: post.SumMD5, Value: "6f5902ac237024bdd0c176cb93063dc4"}
	return a
}

// grow commits announcements from..to in batches of 200.
func grow(b *testing.B, c *Cache, from, to int) {
	a := say("p", "d,aa", "1,4096,1,0,0", 0)
	toks := make([]Token, 0, 200)
	for i := from; i < to; i++ {
		v, tok := c.Offer(numbered(a, i))
		if v != Fresh {
			b.Fatal(i, v)
		}
		if toks = append(toks, tok); len(toks) == cap(toks) || i+1 == to {
			if err := c.CommitAll(toks); err != nil {
				b.Fatal(err)
			}
			toks = toks[:0]
		}
	}
}

func benchOpen(b *testing.B, dir string) *Cache {
	c, err := Open(Options{TTL: time.Hour, Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c
}

func BenchmarkOfferCommit(b *testing.B) {
	for _, where := range []string{"memory", "disk"} {
		b.Run(where, func(b *testing.B) {
			dir := ""
			if where == "disk" {
				dir = b.TempDir()
			}
			c := benchOpen(b, dir)
			b.ResetTimer()
			grow(b, c, 0, b.N)
		})
	}
}

func BenchmarkDuplicate(b *testing.B) {
	c := benchOpen(b, "")
	grow(b, c, 0, 1_000_000)
	a := say("p", "d,aa", "1,4096,1,0,0", 0)
	b.ResetTimer()
	for i := range b.N {
		if v, _ := c.Offer(numbered(a, i*7919%1_000_000)); v != Duplicate {
			b.Fatal(v)
		}
	}
}

// BenchmarkMemory reports the resident bytes a fingerprint takes, as slope from one million,
// and the seconds to open ten million; run it with -benchtime 1x.
func BenchmarkMemory(b *testing.B) {
	if b.N > 1 {
		b.Skip("once is enough")
	}
	dir := b.TempDir()
	c := benchOpen(b, dir)
	grow(b, c, 0, 1_000_000)
	base := resident(b)
	grow(b, c, 1_000_000, 5_000_000)
	b.ReportMetric(float64(resident(b)-base)/4e6, "B/fingerprint-to-5M")
	grow(b, c, 5_000_000, 10_000_000)
	b.ReportMetric(float64(resident(b)-base)/9e6, "B/fingerprint-to-10M")
	c.Close()
	debug.FreeOSMemory()
	start := time.Now()
	c = benchOpen(b, dir)
	b.ReportMetric(time.Since(start).Seconds(), "s/open-10M")
	if c.Len() != 10_000_000 {
		b.Fatal(c.Len())
	}
	b.ReportMetric(float64(resident(b))/1e7, "B/fingerprint-after-open")
}

// resident is VmRSS in bytes, with whatever the collector has in reserve.
func resident(b *testing.B) int {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	_, rest, _ := strings.Cut(string(raw), "VmRSS:")
	var kib int
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		b.Fatal(err)
	}
	return kib << 10
}

// BenchmarkOpen opens a cache of two million.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	c := benchOpen(b, dir)
	grow(b, c, 0, 2_000_000)
	c.Close()
	b.ResetTimer()
	for range b.N {
		benchOpen(b, dir).Close()
	}
}
