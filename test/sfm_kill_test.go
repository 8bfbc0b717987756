package test

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/items"
	"srpump/pipeline/sfm/platform/apitest"
	"srpump/pipeline/warc"
	"srpump/pump/broker"
)

// tool builds a program that is not part of the one binary.
func tool(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(bin, name)); err == nil {
		return
	}
	args := []string{"build", "-o", bin}
	if raceDetector {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "srpump/cmd/"+name)...).CombinedOutput(); err != nil {
		t.Fatalf("cannot build %s: %v: %s", name, err, out)
	}
}

// sfmHears reads all that is said on an exchange.
type sfmHears struct {
	mu  sync.Mutex
	all []*broker.Delivery
}

func hearSFM(t *testing.T, conn broker.Conn, exchange string) *sfmHears {
	t.Helper()
	q := fresh("q_guest")
	must(t, conn.DeclareExchange(t.Context(), broker.Exchange{Name: exchange}))
	_, err := conn.DeclareQueue(t.Context(), broker.Queue{Name: q})
	must(t, err)
	for _, pattern := range []string{"harvest.status.#", sfm.CreatedKey, sfm.WebStartKey} {
		must(t, conn.Bind(t.Context(), broker.Binding{Queue: q, Exchange: exchange, Pattern: pattern}))
	}
	in, err := conn.Consume(t.Context(), q, broker.ConsumeOptions{Prefetch: 100})
	must(t, err)
	h := new(sfmHears)
	var over sync.WaitGroup
	over.Go(func() {
		for {
			d, err := in.Next(t.Context())
			if err != nil {
				return
			}
			h.mu.Lock()
			h.all = append(h.all, d)
			h.mu.Unlock()
			_ = in.Ack(d.Tag)
		}
	})
	t.Cleanup(func() { _ = in.Close(); over.Wait() })
	return h
}

// status is the last, or nil.
func (h *sfmHears) status(t *testing.T) (last *sfm.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.all {
		if strings.HasPrefix(d.Key, "harvest.status.") {
			s, err := sfm.ParseStatus(d.Body)
			must(t, err)
			last = s
		}
	}
	return last
}

// told are the WARCs told of, each with one id and digest however often it was.
func (h *sfmHears) told(t *testing.T) map[string]*sfm.Created {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	told := make(map[string]*sfm.Created)
	for _, d := range h.all {
		if d.ContentType != "application/json" || d.ContentEncoding != "utf-8" || d.Transient || !json.Valid(d.Body) {
			t.Errorf("%s came as %+v", d.Key, d.Publishing)
		}
		if d.Key != sfm.CreatedKey {
			continue
		}
		c, err := sfm.ParseCreated(d.Body)
		must(t, err)
		if before := told[c.Path]; before != nil && *before != *c {
			t.Errorf("%s is told of as %+v and as %+v", c.Path, before, c)
		}
		told[c.Path] = c
	}
	return told
}

// A harvest between two brokers' ends: sr_spool in, sfm_harvest and sr_spool out, each of them killed at any
// moment, and it ends as if nothing had been.
func TestKillHarvest(t *testing.T) {
	tool(t, "sfm_harvest")
	onBothBrokers(t, func(t *testing.T, url string) {
		h, photos, kills := newHost(t), scale(25, 200), scale(9, 60)
		api := apitest.OpenFlickr(t)
		api.User("9@N01", "joe")
		for i := range photos {
			api.Post("9@N01", 1000+i)
		}
		var asked atomic.Int64
		api.Before(func(*http.Request) { asked.Add(1) })
		x, q, conn := fresh("sfm_exchange"), fresh("flickr_harvester"), connect(t, url)
		heard := hearSFM(t, conn, x)
		starts := []func() *running{
			func() *running {
				return h.start("sr_spool", "in", "-b", url, "-exchange", x, "-queue_name", q, "-subtopic", "harvest.start.flickr.*", "-directory", h.path("spool/in"))
			},
			func() *running {
				return h.start("sfm_harvest", "-s", h.path("spool"), "-a", api.Base, "-z", "5000", "-w", "0s")
			},
			func() *running {
				return h.start("sr_spool", "out", "-b", url, "-exchange", x, "-directory", h.path("spool/out"))
			},
		}
		h.run(0, "", "sr_spool", "in", "-once", "-b", url, "-exchange", x, "-queue_name", q, "-subtopic", "harvest.start.flickr.*", "-directory", h.path("spool/in"))
		body := fmt.Sprintf(`{"id":"a1","type":"flickr_user","path":%q,"seeds":[{"id":"S1","token":"joe"}],"credentials":{"key":"0123456789abcdef"},
			"collection_set":{"id":"s"},"collection":{"id":"k"}}`, h.path("k"))
		publish(t, conn, broker.Publishing{Exchange: x, Key: "harvest.start.flickr.flickr_user", ContentType: "application/json", Body: []byte(body)})
		must(t, os.MkdirAll(h.path("spool/out"), 0o755))
		var all []*running
		for _, start := range starts {
			all = append(all, start())
		}
		ended := func() bool { s := heard.status(t); return s != nil && s.Status == sfm.Success }
		for range kills {
			more := asked.Load() + rand.Int64N(8)
			waitFor(t, "progress", func() bool { return asked.Load() > more || ended() }, all[1].text)
			i := rand.IntN(len(all))
			all[i].kill()
			all[i] = starts[i]()
		}
		waitFor(t, "the end", ended, all[1].text)
		waitFor(t, "an empty spool", func() bool { return len(messages(t, h.path("spool/in")))+len(messages(t, h.path("spool/out"))) == 0 }, all[1].text, all[2].text)
		checkHarvest(t, h, heard, photos)
	})
}

// Terminated in the midst, a harvest of one request pauses with a status of its own; it goes on when it is
// asked for again, and a second signal ends it at once without loss.
func TestPauseHarvest(t *testing.T) {
	tool(t, "sfm_harvest")
	h, api := newHost(t), apitest.OpenFlickr(t)
	api.User("9@N01", "joe")
	for i := range 6 {
		api.Post("9@N01", 1000+i)
	}
	h.write("r.json", fmt.Sprintf(`{"id":"a1","type":"flickr_user","path":%q,"seeds":[{"id":"S1","token":"joe"}],"credentials":{"key":"0123456789abcdef"},
		"collection_set":{"id":"s"},"collection":{"id":"k"}}`, h.path("k")))
	arrived, goOn := make(chan struct{}, 1), make(chan struct{}, 1)
	api.Fail("photo_id=1003", 1, apitest.Held(arrived, goOn, api.Real))
	r := h.start("sfm_harvest", "-ui", "3", "-a", api.Base, "r.json")
	<-arrived
	must(t, r.cmd.Process.Signal(syscall.SIGTERM))
	goOn <- struct{}{}
	<-r.ended
	if status := r.cmd.ProcessState.ExitCode(); status != 75 || !strings.Contains(r.text(), `"status":"paused"`) || !strings.Contains(r.text(), "hint: run it again") {
		t.Fatalf("exit status %d:\n%s", status, r.text())
	}
	api.Fail("photo_id=1001", 1, apitest.Held(arrived, goOn, api.Real))
	r = h.start("sfm_harvest", "-a", api.Base, "r.json")
	<-arrived
	waitFor(t, "its end", func() bool { _ = r.cmd.Process.Signal(syscall.SIGTERM); return r.over() }, r.text)
	if status := r.cmd.ProcessState.ExitCode(); status != 1 {
		t.Errorf("exit status %d:\n%s", status, r.text())
	}
	goOn <- struct{}{}
	out, _ := h.run(0, "", "sfm_harvest", "-a", api.Base, "r.json")
	if !strings.Contains(out, `"status":"completed success"`) || !strings.Contains(out, `"flickr photos":6`) || !strings.Contains(out, "harvest_resumed") {
		t.Errorf("it ends with %s", out)
	}
}

// messages are the names of the bodies in a directory of a spool.
func messages(t *testing.T, dir string) []string {
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !strings.HasSuffix(e.Name(), ".meta") && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// checkHarvest holds what was told of against what is there.
func checkHarvest(t *testing.T, h *host, heard *sfmHears, photos int) {
	t.Helper()
	last, told := heard.status(t), heard.told(t)
	var count int64
	for _, day := range last.Stats {
		count += day["flickr photos"]
	}
	if count != int64(photos) || last.Warcs.Count != int64(len(told)) {
		t.Errorf("ended with %+v, %d WARCs told of", last, len(told))
	}
	found := make(map[string]bool)
	must(t, filepath.WalkDir(h.path("k"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.Contains(e.Name(), ".warc.gz") {
			if told[path] == nil {
				t.Errorf("%s is nobody's", path)
			}
			delete(told, path)
			photosIn(t, path, found)
		}
		return err
	}))
	if len(told) > 0 || len(found) != photos {
		t.Errorf("%d of %d photos are archived; not there are %v", len(found), photos, told)
	}
}

func photosIn(t *testing.T, path string, found map[string]bool) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	reader, _ := items.For("flickr_user")
	in := warc.NewReader(f, warc.ReadOptions{Report: func(f *warc.Fault) { t.Errorf("%s: %s", path, f) }})
	for {
		rec, err := in.Next()
		if err == io.EOF {
			return
		}
		must(t, err)
		must(t, reader.Items(rec, func(i items.Item) error {
			if reader.Counts(i) {
				found[i.ID] = true
			}
			return nil
		}))
	}
}
