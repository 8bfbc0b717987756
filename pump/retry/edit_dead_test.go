package retry

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// deadHouse is a queue with so many dead letters, every other below odd/.
func deadHouse(tb testing.TB, n int) (*Queue, string) {
	tb.Helper()
	dir := tb.TempDir()
	q, err := Open(dir, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { q.Close() })
	f, err := os.Create(filepath.Join(dir, deadLetterFile))
	if err != nil {
		tb.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i := range n {
		fmt.Fprintf(w, `{"time":"20261121000000","why":"not found","tries":8,"topic":"v02.post.d","headers":{"parts":"1,2,1,0,0","sum":"d,aa","note":"%s"},"notice":"20261121000000 http://127.0.0.1:1/ %s/f%06d"}`+"\n",
			strings.Repeat("x", 100), []string{"even", "odd"}[i%2], i)
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		tb.Fatal(err)
	}
	return q, dir
}

// peak is how much larger, in bytes, the heap is at most while something is done.
func peak(do func()) (bytes uint64) {
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	stop, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			runtime.ReadMemStats(&now)
			if now.HeapAlloc > before.HeapAlloc {
				bytes = max(bytes, now.HeapAlloc-before.HeapAlloc)
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	do()
	close(stop)
	<-over
	return bytes
}

// Orders about a hundred thousand dead letters, which are 33 MB, take as much memory as a few of them.
func BenchmarkEditDead(b *testing.B) {
	for name, o := range map[string]Order{"drop": {Drop, []string{"odd"}}, "keep": {Drop, []string{"none"}}, "requeue": {Requeue, []string{"odd"}}} {
		b.Run(name, func(b *testing.B) {
			most := uint64(0)
			for range b.N {
				b.StopTimer()
				q, _ := deadHouse(b, 100_000)
				b.StartTimer()
				most = max(most, peak(func() {
					if _, err := q.edit(o); err != nil {
						b.Fatal(err)
					}
				}))
			}
			b.ReportMetric(float64(most)/(1<<20), "MiB-peak")
		})
	}
}

// What is not meant stays as it is, in its order; what is meant is in the queue, once.
func TestEditDead(t *testing.T) {
	q, dir := deadHouse(t, 5000)
	if out := order(t, q, dir, Requeue, "odd"); out.Dead != 2500 || out.Left != 0 || q.Len() != 2500 {
		t.Errorf("%+v, %d in the queue", out, q.Len())
	}
	left, err := os.ReadFile(filepath.Join(dir, deadLetterFile))
	if err != nil || bytes.Count(left, []byte("\n")) != 2500 || bytes.Contains(left, []byte("odd/")) {
		t.Errorf("%d lines are left, %v", bytes.Count(left, []byte("\n")), err)
	}
	if a, b := bytes.Index(left, []byte("f000000")), bytes.Index(left, []byte("f000002")); a < 0 || b < a {
		t.Error("what stays is in another order")
	}
	if out := order(t, q, dir, Drop, "even"); out.Dead != 2500 {
		t.Errorf("%+v", out)
	}
	names, err := filepath.Glob(filepath.Join(dir, deadLetterFile+"*"))
	if err != nil || len(names) != 0 {
		t.Errorf("left are %v, %v", names, err)
	}
}

// What is given up while an order is carried out is neither held up nor lost.
func TestEditDeadWhileWritten(t *testing.T) {
	q, dir := deadHouse(t, 2000)
	var writing sync.WaitGroup
	for k := range 4 {
		writing.Go(func() {
			for i := range 100 {
				if err := q.DeadLetter().Write("v02.post.d", nil, fmt.Appendf(nil, "20261121000000 http://h/ new/%d.%d", k, i), "why", time.Now()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, what := range []string{"odd", "f000002", "even"} {
		order(t, q, dir, Drop, what)
	}
	writing.Wait()
	list, err := List(dir)
	if err != nil || len(list) != 400 {
		t.Errorf("%d letters are left, %v", len(list), err)
	}
}

// A file that gets another name meanwhile is edited by that; one that is gone is not brought back.
func TestEditDeadRotated(t *testing.T) {
	for rotations, want := range map[int]int{1: 10, 2: 0} {
		q, dir := deadHouse(t, 20)
		q.dead.max = 1
		files, err := q.openDead()
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		defer files[0].Close()
		e := &deadEdit{q: q, from: files[0]}
		if err := e.sort(Order{Drop, []string{"odd"}}); err != nil {
			t.Fatal(err)
		}
		for i := range rotations {
			if err := q.dead.Write("v02.post.d", nil, fmt.Appendf(nil, "20261121000000 http://h/ new%d", i), "why", time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(e.swap(), e.end()); err != nil {
			t.Fatal(err)
		}
		list, err := List(dir)
		if err != nil || len(list) != want+rotations {
			t.Errorf("%d rotations: %d letters are left, %v", rotations, len(list), err)
		}
		if _, err := os.Stat(filepath.Join(dir, deadLetterFile+".tmp")); !errors.Is(err, fs.ErrNotExist) {
			t.Error("the copy is left behind")
		}
	}
}
