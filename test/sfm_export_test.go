package test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/outbox"
	"srpump/pipeline/spool"
	"srpump/pipeline/warc"
)

// An exportBed is a host with archives of photos, a server that lists them, and a spool with one request
// for all of them.
type exportBed struct {
	*host
	api   string
	out   string // directory of the export
	spool string
}

const (
	exportFiles = 6
	exportEach  = 500 // photos of a file
)

func newExportBed(t *testing.T, out, spooled string) *exportBed {
	tool(t, "sfm_export")
	b := &exportBed{host: newHost(t)}
	b.out, b.spool = b.path(out), b.path(spooled)
	results := []any{}
	for n := range exportFiles {
		path := b.path(fmt.Sprint(n, ".warc.gz"))
		f, err := os.Create(path)
		must(t, err)
		w, err := warc.NewWriter(f, warc.WriteOptions{})
		must(t, err)
		for i := range exportEach {
			id := n*exportEach + i
			_, err := w.Add(warc.New(warc.V10, warc.Response, fmt.Sprint("https://api.flickr.com/services/rest/?method=flickr.photos.getInfo&photo_id=", id), time.Unix(1e9, 0)).
				With(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"photo\":{\"id\":\"%d\",\"description\":{\"_content\":%q}},\"stat\":\"ok\"}", id, strings.Repeat("photo ", 100))))
			must(t, err)
		}
		must(t, w.Close())
		must(t, f.Close())
		results = append(results, map[string]any{"warc_id": fmt.Sprint(n), "path": path, "date_created": fmt.Sprintf("2026-11-2%dT00:00:00Z", n)})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"count": len(results), "next": nil, "results": results})
	}))
	t.Cleanup(server.Close)
	b.api = server.URL
	return b
}

// ask leaves the request in the spool.
func (b *exportBed) ask(t *testing.T) {
	in := filepath.Join(b.spool, "in")
	must(t, os.MkdirAll(in, 0o755))
	p := outbox.Message(sfm.Exchange)
	p.Key = "export.start.flickr.flickr_user"
	p.Body = fmt.Appendf(nil, `{"id":"e","type":"flickr_user","collection":{"id":"c"},"path":%q,"format":"csv","segment_size":1000,"dedupe":true}`, b.out)
	must(t, spool.Leave(in, spool.Name(1, p.Key, "e"), p))
}

func (b *exportBed) serve() *running { return b.start("sfm_export", "-a", b.api, "-s", b.spool) }

// waiting tells whether the request is still there.
func (b *exportBed) waiting(t *testing.T) bool {
	names, err := spool.List(filepath.Join(b.spool, "in"))
	must(t, err)
	return len(names) > 0
}

// statuses are what was said, and how often.
func (b *exportBed) statuses(t *testing.T) (running int, finals map[string]int) {
	finals = map[string]int{}
	dir := filepath.Join(b.spool, "out")
	names, err := spool.List(dir)
	must(t, err)
	for _, name := range names {
		p, err := spool.Read(dir, name)
		must(t, err)
		s, err := sfm.ParseExportStatus(p.Body)
		must(t, err)
		if p.Key != "export.status.flickr.flickr_user" || s.ID != "e" {
			t.Errorf("said %s under %s", p.Body, p.Key)
		}
		if s.Status == sfm.Running {
			running++
		} else {
			finals[string(p.Body)]++
		}
	}
	return running, finals
}

// whole tells whether the export is there and all of it.
func (b *exportBed) whole(t *testing.T) bool {
	lines := 0
	for n := range 3 {
		text, err := os.ReadFile(filepath.Join(b.out, fmt.Sprintf("e_%03d.csv", n+1)))
		if err != nil {
			return false
		}
		lines += strings.Count(string(text), "\n")
	}
	return lines == exportFiles*exportEach+3
}

// An exporter that is killed at any moment, again and again, in the end has made one whole export and said
// one thing of it; meanwhile there is the old export or the new one.
func TestExportKilled(t *testing.T) {
	b := newExportBed(t, "out", "spool")
	must(t, os.Mkdir(b.out, 0o755))
	b.write("out/old_001.csv", "old\n")
	b.ask(t)
	for round := range scale(12, 60) {
		r := b.serve()
		select {
		case <-time.After(time.Duration(rand.IntN(40*(1+round))) * time.Millisecond):
		case <-r.ended:
			t.Fatalf("it ended by itself: %s", r.text())
		}
		r.kill()
		if _, err := os.Stat(filepath.Join(b.out, "old_001.csv")); err != nil && !b.whole(t) {
			t.Fatalf("there is neither the old export nor the new one: %q", present(t, b.out))
		}
		if !b.waiting(t) { // it was done: it is asked for again, as by a broker that was not told
			b.ask(t)
		}
	}
	r := b.serve()
	waitFor(t, "the export", func() bool { return !b.waiting(t) }, r.text)
	r.stop()
	began, finals := b.statuses(t)
	if len(finals) != 1 || began == 0 || !b.whole(t) {
		t.Errorf("said %d times running and %v; there are %q", began, finals, present(t, b.out))
	}
	for body := range finals {
		if !strings.Contains(body, sfm.Success) || strings.Contains(body, `"code"`) {
			t.Errorf("said %s", body)
		}
	}
	if left, err := filepath.Glob(b.path(".sfm_export-*")); err != nil || len(left) != 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}

// A disk that is full is a failure that is said, also when the spool is on it, and the old export stays.
func TestExportDiskFull(t *testing.T) {
	for name, spooled := range map[string]string{"its own": "spool", "that of the spool": "disk/spool"} {
		t.Run(name, func(t *testing.T) {
			b := newExportBed(t, "disk/out", spooled)
			smallDisk(t, b.path("disk"), "1m")
			must(t, os.Mkdir(b.out, 0o755))
			b.write("disk/out/old_001.csv", "old\n")
			b.ask(t)
			r := b.serve()
			waitFor(t, "an answer", func() bool { return !b.waiting(t) }, r.text)
			r.stop()
			_, finals := b.statuses(t)
			for body := range finals {
				if !strings.Contains(body, sfm.Failure) || !strings.Contains(body, sfm.PersistError) || !strings.Contains(body, "no space left") {
					t.Errorf("said %s", body)
				}
			}
			if got := present(t, b.out); len(finals) != 1 || len(got) != 1 {
				t.Errorf("said %v; there are %q", finals, got)
			}
		})
	}
}

// One that is interrupted leaves nothing, and says so with its exit status.
func TestExportInterrupted(t *testing.T) {
	b := newExportBed(t, "out", "spool")
	cmd := b.command("sfm_export", "-o", b.out)
	names, err := cmd.StdinPipe() // more may come
	must(t, err)
	defer names.Close()
	must(t, cmd.Start())
	_, err = fmt.Fprintln(names, b.path("0.warc.gz"))
	must(t, err)
	waitFor(t, "its stage", func() bool {
		made, _ := filepath.Glob(b.path(".sfm_export-*", "*"))
		return len(made) > 0
	})
	must(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait() // its status is looked at
	if code := cmd.ProcessState.ExitCode(); code != 75 {
		t.Errorf("exit status %d", code)
	}
	if left, err := filepath.Glob(b.path(".sfm_export-*")); err != nil || len(left) != 0 || len(present(t, b.path())) != exportFiles {
		t.Errorf("left are %q, %q, %v", left, present(t, b.path()), err)
	}
}
