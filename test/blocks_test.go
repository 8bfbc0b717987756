package test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A slowFile serves one file at a pace, with ranges, and counts the bytes that were taken.
type slowFile struct {
	*httptest.Server
	sent atomic.Int64
}

// portion of bytes served at a time; between two the server rests.
const portion = 256 << 10

func serveSlowly(t testing.TB, content []byte, rest time.Duration) *slowFile {
	s := new(slowFile)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(&slowWriter{w, s, rest, r.Context().Done()}, r, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(s.Close)
	return s
}

type slowWriter struct {
	http.ResponseWriter
	s    *slowFile
	rest time.Duration
	gone <-chan struct{}
}

func (w *slowWriter) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		var m int
		m, err = w.ResponseWriter.Write(b[:min(len(b), portion)])
		w.s.sent.Add(int64(m))
		n, b = n+m, b[m:]
		select {
		case <-time.After(w.rest):
		case <-w.gone:
		}
	}
	return n, err
}

// sr_subscribe(1), BLOCKS: kill -9 at random moments while a file comes in blocks. In the end it is here and equal,
// each block was announced, nothing is left over, and of what was fetched only what had not been acknowledged was
// fetched again.
func TestKillBlocks(t *testing.T) {
	t.Parallel() // it waits more than it works
	onBothBrokers(t, func(t *testing.T, url string) {
		const block, workers = 1 << 20, 4
		size, kills := scale(64<<20, 1<<30), scale(20, 100)
		h := newHost(t)
		content := make([]byte, size)
		rand.NewChaCha8([32]byte{1}).Read(content)
		must(t, os.MkdirAll(h.path("src"), 0o755))
		must(t, os.WriteFile(h.path("src/big"), content, 0o644))
		web := serveSlowly(t, content, 2*time.Millisecond)
		in, out := fresh("xs_guest"), fresh("xs_guest")
		conn := connect(t, url)
		captureFrom(t, conn, in)
		announced := captureFrom(t, conn, out)
		args := []string{"-b", url, "-exchange", in, "-pb", url, "-post_exchange", out, "-queue_name", fresh("q_guest"), "-prefetch", "8", "-instances", fmt.Sprint(workers),
			"-host_workers", fmt.Sprint(workers), "-directory", h.path("dst"), "-pbd", h.path("dst"), "-pbu", "http://copy/", "-sd", "1h"}
		start := func() *running {
			r := h.start("sr_subscribe", args...)
			r.await("consuming")
			return r
		}
		start().kill()
		h.run(0, "", "sr_post", "-pb", url, "-post_exchange", in, "-pbu", web.URL, "-pbd", h.path("src"), "-blocksize", "1M", "-p", h.path("src/big"))
		here := func() int { return strings.Count(journals(t, h.path()), `{"block":`) * block }
		final := h.path("dst/big")
		done := func() bool {
			got, err := os.ReadFile(final)
			if err == nil && !bytes.Equal(got, content) {
				t.Fatal("wrong bytes under the final name")
			}
			return err == nil
		}
		last := killAlong(t, kills, size, func() int {
			if done() {
				return size
			}
			return here()
		}, start)
		waitFor(t, "the file", done, last.text)
		waitFor(t, "all announced", func() bool { return announcedBlocks(announced) == size/block }, last.text)
		last.stop()
		entries, err := os.ReadDir(h.path("dst"))
		if must(t, err); len(entries) != 1 {
			t.Errorf("left behind: %v", entries)
		}
		// What was in the hands of a run that was killed: blocks being fetched, and blocks not yet durable.
		if most := int64(size + (kills+1)*8*block); web.sent.Load() > most {
			t.Errorf("%d bytes fetched of %d with %d kills, at most %d", web.sent.Load(), size, kills, most)
		}
		t.Logf("%d kills, %.2f times the file fetched", kills, float64(web.sent.Load())/float64(size))
	})
}

// announcedBlocks is how many different blocks were announced.
func announcedBlocks(k *capture) int {
	numbers := make(map[int64]bool)
	for _, a := range k.all() {
		numbers[a.Block.Number] = true
	}
	return len(numbers)
}

// journals is what the journals of blocks on a host say.
func journals(t testing.TB, dir string) string {
	t.Helper()
	var all strings.Builder
	_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".journal") {
			text, _ := os.ReadFile(p)
			all.Write(text)
		}
		return nil
	})
	return all.String()
}

// Memory does not depend on the size: a sparse file of 10 GiB in blocks of 50 MiB, four at a time.
func TestHugeBlocks(t *testing.T) {
	if !long() {
		t.Skip("long form")
	}
	const size, workers, most = 10 << 30, 4, 40 << 10 // KiB: what the process needs, and 8 MiB for each worker above 2
	h := newHost(t)
	must(t, os.MkdirAll(h.path("src"), 0o755))
	must(t, os.WriteFile(h.path("src/huge"), nil, 0o644))
	must(t, os.Truncate(h.path("src/huge"), size))
	url := "sqlite://" + h.path("pump.db")
	r := h.start("sr_subscribe", "-b", url, "-exchange", "xin", "-instances", fmt.Sprint(workers), "-host_workers", fmt.Sprint(workers), "-directory", h.path("dst"))
	r.await("consuming")
	h.run(0, "", "sr_post", "-pb", url, "-post_exchange", "xin", "-pbu", serveDir(t, h.path("src")), "-pbd", h.path("src"), "-blocksize", "50M", "-p", h.path("src/huge"))
	waitWithin(t, 20*time.Minute, "the file", func() bool {
		fi, err := os.Stat(h.path("dst/huge"))
		return err == nil && fi.Size() == size
	}, r.text)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	must(t, err)
	var peak int
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &peak); err == nil {
			break
		}
	}
	t.Logf("peak %d MiB", peak>>10)
	if peak == 0 || peak > most && !raceDetector {
		t.Errorf("peak %d KiB, at most %d", peak, most)
	}
	r.stop()
}
