package fetch

import (
	"context"
	"crypto/md5"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"srpump/post"
	"srpump/pump/transfer"
	"srpump/test/nginx"
)

const benchFiles = 5000

// benchSource is a directory of small files with their sums.
func benchSource(b *testing.B) (dir string, sums []post.Fingerprint) {
	dir = b.TempDir()
	sums = make([]post.Fingerprint, benchFiles)
	buf := make([]byte, 4096)
	for i := range sums {
		copy(buf, fmt.Sprintf("file %d", i))
		h := md5.New()
		h.Write(buf)
		sums[i] = post.OfHash(post.SumMD5, h)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), buf, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir, sums
}

// BenchmarkSmall fetches 5,000 files of 4 KiB from nginx with 16 workers, to
// memory and to the disk of the temporary directory. The ratio to curl -Z
// followed by sync -f is measured alternately with it.
func BenchmarkSmall(b *testing.B) {
	dir, sums := benchSource(b)
	url := nginx.Start(b, dir)
	for _, c := range []struct {
		name, dir string
		sync      Sync
	}{
		{"tmpfs-off", "/dev/shm", SyncOff}, {"tmpfs-group", "/dev/shm", SyncGroup},
		{"disk-off", "", SyncOff}, {"disk-group", "", SyncGroup},
	} {
		b.Run(c.name, func(b *testing.B) {
			var ours, theirs time.Duration
			for b.Loop() {
				theirs += curl(b, url, benchDir(b, c.dir), c.sync)
				ours += fetchAll(b, url, benchDir(b, c.dir), sums, c.sync)
			}
			b.ReportMetric(benchFiles*float64(b.N)/ours.Seconds(), "files/s")
			b.ReportMetric(theirs.Seconds()/ours.Seconds(), "x-curl")
		})
	}
}

func benchDir(b *testing.B, parent string) string {
	dir, err := os.MkdirTemp(parent, "srpump-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	syncDisk(b, dir)
	return dir
}

func syncDisk(b *testing.B, dir string) {
	if out, err := exec.Command("sync", "-f", dir).CombinedOutput(); err != nil {
		b.Fatalf("sync: %v %s", err, out)
	}
}

func curl(b *testing.B, url, dir string, s Sync) time.Duration {
	start := time.Now()
	cmd := exec.Command("curl", "-sS", "-Z", "--parallel-max", "16", "--output-dir", dir,
		fmt.Sprintf("%s/[0-%d]", url, benchFiles-1), "-o", "#1")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("curl: %v %.300s", err, out)
	}
	if s != SyncOff {
		syncDisk(b, dir)
	}
	return time.Since(start)
}

func fetchAll(b *testing.B, url, dir string, sums []post.Fingerprint, s Sync) time.Duration {
	const workers = 16
	start := time.Now()
	tree, err := OpenTree(dir, TreeOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer tree.Close()
	in := NewInstaller(InstallerOptions{Sync: s})
	src := transfer.NewHTTP(transfer.HTTPOptions{Workers: workers})
	defer src.Close()
	var next atomic.Int64
	var bad atomic.Int64
	var wg, installed sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < benchFiles; i = next.Add(1) - 1 {
				name := fmt.Sprint(i)
				st, err := Fetch(context.Background(), Job{Source: src, Request: transfer.Whole(url + "/" + name),
					Tree: tree, Path: name, Tag: "bench", Size: 4096, Sum: sums[i], Mode: 0o644, Mtime: start})
				if err != nil || !st.Match {
					bad.Add(1)
					continue
				}
				installed.Add(1)
				in.Install(st, func(err error) {
					if err != nil {
						bad.Add(1)
					}
					installed.Done()
				})
			}
		})
	}
	wg.Wait()
	installed.Wait()
	took := time.Since(start)
	in.Close()
	if bad.Load() > 0 {
		b.Fatalf("%d files failed", bad.Load())
	}
	return took
}

// BenchmarkLarge fetches one file of 1 GiB from nginx, md5 verified, beside
// md5sum of it and curl to a file.
func BenchmarkLarge(b *testing.B) {
	dir := b.TempDir()
	file := filepath.Join(dir, "big")
	out, err := exec.Command("sh", "-c", "head -c 1073741824 /dev/urandom > "+file+" && md5sum "+file).Output()
	if err != nil {
		b.Fatal(err)
	}
	url := nginx.Start(b, dir) + "/big"
	for _, c := range []struct{ name, dir string }{{"tmpfs", "/dev/shm"}, {"disk", ""}} {
		b.Run(c.name, func(b *testing.B) {
			var ours, sum, curl time.Duration
			for b.Loop() {
				sum += timed(b, "md5sum", file)
				to := benchDir(b, c.dir)
				curl += timed(b, "curl", "-sS", "-o", filepath.Join(to, "c"), url)
				os.Remove(filepath.Join(to, "c"))
				ours += fetchBig(b, url, to, string(out[:32]))
				os.RemoveAll(to)
				runtime.GC()
			}
			b.ReportMetric(1024*float64(b.N)/ours.Seconds(), "MiB/s")
			b.ReportMetric(sum.Seconds()/ours.Seconds(), "x-md5sum")
			b.ReportMetric(curl.Seconds()/ours.Seconds(), "x-curl")
		})
	}
}

func timed(b *testing.B, name string, args ...string) time.Duration {
	start := time.Now()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		b.Fatalf("%s: %v %.300s", name, err, out)
	}
	return time.Since(start)
}

func fetchBig(b *testing.B, url, dir, md5 string) time.Duration {
	start := time.Now()
	tree, err := OpenTree(dir, TreeOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer tree.Close()
	in := NewInstaller(InstallerOptions{Sync: SyncOff})
	defer in.Close()
	src := transfer.NewHTTP(transfer.HTTPOptions{})
	defer src.Close()
	st, err := Fetch(context.Background(), Job{Source: src, Request: transfer.Whole(url), Tree: tree, Path: "big",
		Size: 1 << 30, Sum: post.Fingerprint{Method: post.SumMD5, Value: md5}})
	if err != nil || !st.Match {
		b.Fatalf("fetched %+v: %v", st, err)
	}
	in.Install(st, func(e error) { err = e })
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}
