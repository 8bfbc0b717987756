package test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"srpump/test/rabbit"
)

// A corpus is the files a crash test moves: relative name → content.
type corpus map[string][]byte

func newCorpus(n int) corpus {
	c := make(corpus, n)
	for i := range n {
		text := fmt.Sprintf("file %d\n", i)
		c[fmt.Sprintf("d%d/f%d", i%50, i)] = bytes.Repeat([]byte(text), 1+i%400)
	}
	return c
}

func (c corpus) write(t testing.TB, dir string) {
	t.Helper()
	for name, content := range c {
		p := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, content, 0o644))
	}
}

// arrived is how many are below dir under their own names. A wrong byte under a final name
// is a failure at any moment.
func (c corpus) arrived(t testing.TB, dir string) int {
	t.Helper()
	n := 0
	for name, want := range c {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: wrong bytes under the final name (%d of %d)", name, len(got), len(want))
		}
		n++
	}
	return n
}

// onlyIn fails for every file below dir that is none of the corpus.
func (c corpus) onlyIn(t testing.TB, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if rel, _ := filepath.Rel(dir, p); c[rel] == nil {
				t.Errorf("left behind: %s", rel)
			}
		}
		return err
	}))
}

// serveDir serves a directory over HTTP by the library of Go.
func serveDir(t testing.TB, dir string) string {
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(s.Close)
	return s.URL
}

// killAlong starts a command again and again and kills it at moments spread at random over the
// progress from 0 to total, then leaves it running.
func killAlong(t testing.TB, kills, total int, progress func() int, start func() *running) *running {
	t.Helper()
	for k := range kills {
		share := max(1, total/kills)
		until := min(total-1, k*share+rand.IntN(share))
		r := start()
		waitFor(t, fmt.Sprintf("progress to %d of %d before kill %d", until, total, k), func() bool { return progress() >= until || r.over() }, r.text)
		if r.over() {
			t.Fatalf("ended by itself:\n%s", r.text())
		}
		r.kill()
	}
	return start()
}

// kill -9 of sr_sarra at random moments: every file is there in the end, equal, and was
// announced at least once, though fingerprints are remembered.
func TestKillSarra(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h, files, kills := newHost(t), newCorpus(scale(800, 5000)), scale(8, 50)
		files.write(t, h.path("src"))
		in, out := fresh("xs_guest"), fresh("xs_guest")
		conn := connect(t, url)
		captureFrom(t, conn, in)
		announced := captureFrom(t, conn, out)
		args := []string{"-b", url, "-exchange", in, "-pb", url, "-post_exchange", out, "-queue_name", fresh("q_guest"),
			"-sd", "1h", "-directory", h.path("dst"), "-pbd", h.path("dst"), "-pbu", "http://copy/"}
		start := func() *running {
			r := h.start("sr_sarra", args...)
			r.await("consuming")
			return r
		}
		start().kill()
		h.run(0, "", "sr_post", "-pb", url, "-post_exchange", in, "-pbu", serveDir(t, h.path("src")), "-pbd", h.path("src"), "-p", h.path("src"))
		last := killAlong(t, kills, len(files), func() int { return files.arrived(t, h.path("dst")) }, start)
		waitFor(t, "all announced", func() bool { return announced.len() == len(files) },
			func() string { return fmt.Sprintf("%d of %d", announced.len(), len(files)) }, last.text)
		if n := files.arrived(t, h.path("dst")); n != len(files) {
			t.Errorf("%d of %d files arrived", n, len(files))
		}
		last.stop()
		files.onlyIn(t, h.path("dst"))
		t.Logf("%d kills, %d files, announced %d times", kills, len(files), len(announced.all()))
	})
}

// kill -9 of sr_subscribe at random moments.
func TestKillSubscribe(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h, files := newHost(t), newCorpus(scale(600, 5000))
		files.write(t, h.path("src"))
		in := fresh("xs_guest")
		captureFrom(t, connect(t, url), in)
		args := []string{"-b", url, "-exchange", in, "-queue_name", fresh("q_guest"), "-mirror", "-directory", h.path("dst")}
		start := func() *running {
			r := h.start("sr_subscribe", args...)
			r.await("consuming")
			return r
		}
		start().kill()
		h.run(0, "", "sr_post", "-pb", url, "-post_exchange", in, "-pbu", serveDir(t, h.path("src")), "-pbd", h.path("src"), "-p", h.path("src"))
		arrived := func() int { return files.arrived(t, h.path("dst")) }
		last := killAlong(t, scale(6, 50), len(files), arrived, start)
		waitFor(t, "all files", func() bool { return arrived() == len(files) }, last.text)
		last.stop()
		files.onlyIn(t, h.path("dst"))
	})
}

// kill -9 of sr_winnow between two sources: no path is lost, whichever source it came from.
func TestKillWinnow(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h, files := newHost(t), newCorpus(scale(3000, 10000))
		files.write(t, h.path("src"))
		in, out := fresh("xs_guest"), fresh("xs_guest")
		conn := connect(t, url)
		captureFrom(t, conn, in)
		passed := captureFrom(t, conn, out)
		args := []string{"-b", url, "-exchange", in, "-pb", url, "-post_exchange", out, "-queue_name", fresh("q_guest")}
		start := func() *running {
			r := h.start("sr_winnow", args...)
			r.await("consuming")
			return r
		}
		start().kill()
		for _, source := range []string{"http://one/", "http://two/"} {
			h.run(0, "", "sr_post", "-pb", url, "-post_exchange", in, "-pbu", source, "-pbd", h.path("src"), "-p", h.path("src"))
		}
		last := killAlong(t, scale(6, 50), len(files), passed.len, start)
		waitFor(t, "all passed", func() bool { return passed.len() == len(files) }, last.text)
		last.stop()
		t.Logf("%d paths of two sources, %d passed", len(files), len(passed.all()))
	})
}

// kill -9 of the RabbitMQ node at random moments while sr_sarra works and sr_post announces.
func TestKillRabbit(t *testing.T) {
	t.Parallel() // it waits more than it works
	node := rabbit.Own(t)
	url := node.URL("guest")
	h, files := newHost(t), newCorpus(scale(1500, 5000))
	files.write(t, h.path("src"))
	in, out := fresh("xs_guest"), fresh("xs_guest")
	conn := connect(t, url)
	captureFrom(t, conn, in)
	announced := captureFrom(t, conn, out)
	sarra := h.start("sr_sarra", "-b", url, "-exchange", in, "-pb", url, "-post_exchange", out, "-queue_name", fresh("q_guest"),
		"-directory", h.path("dst"), "-pbd", h.path("dst"), "-pbu", "http://copy/")
	sarra.await("consuming")
	poster := h.start("sr_post", "-pb", url, "-post_exchange", in, "-pbu", serveDir(t, h.path("src")), "-pbd", h.path("src"), "-p", h.path("src"))
	poster.await("sr_post|INFO|^$")
	kills := scale(2, 5)
	for k := range kills {
		share := len(files) / kills
		until := k*share + rand.IntN(share)
		waitFor(t, "progress", func() bool { return files.arrived(t, h.path("dst")) >= until }, sarra.text, poster.text)
		node.Kill()
		must(t, node.Restart())
	}
	waitFor(t, "the poster to end", poster.over, poster.text)
	if code := poster.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("sr_post: exit status %d\n%s", code, poster.text())
	}
	waitFor(t, "all announced", func() bool { return announced.len() == len(files) },
		func() string { return fmt.Sprintf("%d of %d", announced.len(), len(files)) }, func() string { return tail(sarra.text()) })
	if n := files.arrived(t, h.path("dst")); n != len(files) {
		t.Errorf("%d of %d files arrived", n, len(files))
	}
	sarra.stop()
	files.onlyIn(t, h.path("dst"))
}

// tail is the end of a log.
func tail(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
