package harvest_test

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/sfm/items"
	"srpump/pipeline/sfm/platform/apitest"
	"srpump/pipeline/spool"
	"srpump/pipeline/warc"
)

const publicSeed = `[{"id":"S1","token":"public@example.social"}]`

func openMastodon(t *testing.T) *apitest.Mastodon {
	api := apitest.OpenMastodon(t)
	api.Account("1", "ann")
	return api
}

// soon waits for something that another process or goroutine does.
func soon(there func() bool) bool {
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); time.Sleep(2 * time.Millisecond) {
		if there() {
			return true
		}
	}
	return false
}

func await(t *testing.T, what string, there func() bool) {
	t.Helper()
	if !soon(there) {
		t.Fatalf("%s does not come", what)
	}
}

// stream runs a stream harvest until it is stopped by what is called with its stop.
func (d *desk) stream(id string, during func(stop func())) {
	d.t.Helper()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		during(func() { close(stop) })
	}()
	job := d.job(id, "mastodon_stream", publicSeed)
	job.Stop = stop
	d.run(d.t.Context(), job, harvest.Succeeded)
	<-ended
}

// archived counts the statuses in all WARCs of a directory, in which nothing may be damaged.
func archived(t *testing.T, dir string) map[string]int {
	t.Helper()
	found := make(map[string]int)
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == ".harvest" {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".warc.gz") {
			return err
		}
		f, err := os.Open(path)
		must(t, err)
		defer f.Close()
		reader, _ := items.For("mastodon_stream")
		in := warc.NewReader(f, warc.ReadOptions{Report: func(f *warc.Fault) { t.Errorf("%s: %s", path, f) }})
		for {
			rec, err := in.Next()
			if err == io.EOF {
				return nil
			}
			must(t, err)
			must(t, reader.Items(rec, func(i items.Item) error { found[i.ID]++; return nil }))
		}
	}))
	return found
}

// A stream is recorded until it is stopped.
func TestStreamStopped(t *testing.T) {
	api := openMastodon(t)
	d := newDesk(t, api.URL)
	d.stream("st", func(stop func()) {
		await(t, "the listener", func() bool { return api.Listeners() == 1 })
		api.Post("1", "", 5)
		await(t, "what is recorded", func() bool { return strings.Contains(parts(d.collection), `"id":"1035"`) })
		stop()
	})
	if got := d.words(); got != "running, warc_created, stopping, completed success" {
		t.Errorf("said %s", got)
	}
	if counted(d.last()) != 5 || len(archived(t, d.collection)) != 5 || len(d.last().Warnings) != 0 {
		t.Errorf("%v are archived, ended with %+v", archived(t, d.collection), d.last())
	}
}

// parts is what was recorded so far of a stream that goes on.
func parts(collection string) string {
	var text strings.Builder
	paths, _ := filepath.Glob(filepath.Join(collection, ".harvest", "*", "*.part"))
	for _, path := range paths {
		data, _ := os.ReadFile(path)
		text.Write(data)
	}
	return text.String()
}

// When a file is due there is another, and the stream goes on; the requester hears that it runs.
func TestStreamRolls(t *testing.T) {
	api := openMastodon(t)
	d := newDesk(t, api.URL)
	d.options.Roll, d.options.Status = 400*time.Millisecond, 50*time.Millisecond
	d.stream("st", func(stop func()) {
		for i := range 3 {
			await(t, "the listener", func() bool { return api.Listeners() == 1 })
			api.Post("1", "", 2)
			await(t, "the next file", func() bool { return strings.Count(d.words(), "warc_created") > i })
		}
		stop()
	})
	words := d.words()
	if files := strings.SplitN(words, "warc_created", 4); strings.Contains(strings.Join(files[:3], ""), "stopping") || !strings.HasSuffix(words, "completed success") {
		t.Errorf("said %s", words)
	}
	if n := strings.Count(words, "running"); n < 8 {
		t.Errorf("%d times it was said to run", n)
	}
	if counted(d.last()) != int64(len(archived(t, d.collection))) || counted(d.last()) < 3 || d.last().Warcs.Count < 3 {
		t.Errorf("ended with %+v", d.last())
	}
}

// A stream whose harvester is killed again and again loses nothing of what had come, and goes on; it ends
// when it is stopped, also when it was killed after that.
func TestStreamKilled(t *testing.T) {
	api, dir := openMastodon(t), t.TempDir()
	collection := filepath.Join(dir, "k")
	leave(t, dir, "harvest.start.mastodon.mastodon_stream", "st", fmt.Sprintf(`{"id":"st","type":"mastodon_stream","path":%q,"seeds":%s,
		"collection_set":{"id":"s"},"collection":{"id":"k"}}`, collection, publicSeed))
	sent := 0
	for range 4 {
		cmd, said := order{Dir: dir, Base: api.URL, Size: 1 << 20}.begin(t)
		await(t, "the listener", func() bool { return api.Listeners() == 1 })
		last := api.Post("1", "", 3)
		sent += 3
		await(t, "what is recorded", func() bool { return strings.Contains(parts(collection), `"id":"`+last+`"`) })
		must(t, cmd.Process.Signal(syscall.SIGKILL))
		if cmd.Wait() == nil {
			t.Fatalf("it was not killed:\n%s", said)
		}
		await(t, "the end of the connection", func() bool { return api.Listeners() == 0 })
	}
	leave(t, dir, "harvest.stop.mastodon.mastodon_stream", "st-stop", `{"id":"st"}`)
	cmd, said := order{Dir: dir, Base: api.URL, Size: 1 << 20}.begin(t)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v:\n%s", err, said)
	}
	if found := archived(t, collection); len(found) != sent {
		t.Errorf("%d of %d are archived", len(found), sent)
	}
	out := filepath.Join(dir, "spool", "out")
	names, err := spool.List(out)
	must(t, err)
	p, err := spool.Read(out, names[len(names)-1])
	must(t, err)
	s, err := sfm.ParseStatus(p.Body)
	must(t, err)
	if s.Status != sfm.Success || counted(s) != int64(sent) || codes(s.Warnings) != "harvest_resumed" {
		t.Errorf("ended with %s", p.Body)
	}
}

// What came of a stream is archived once, whether the process is killed before the record of it is made, and
// without a WARC file to take it, or behind that.
func TestStreamKilledAtItsEnd(t *testing.T) {
	for _, step := range []string{"", "recorded"} {
		t.Run(step, func(t *testing.T) {
			api, dir := openMastodon(t), t.TempDir()
			collection := filepath.Join(dir, "k")
			leave(t, dir, "harvest.start.mastodon.mastodon_stream", "st", fmt.Sprintf(`{"id":"st","type":"mastodon_stream","path":%q,"seeds":%s,
				"collection_set":{"id":"s"},"collection":{"id":"k"}}`, collection, publicSeed))
			cmd, said := order{Dir: dir, Base: api.URL, Size: 1 << 20, Kill: step, Nth: 1}.begin(t)
			await(t, "the listener", func() bool { return api.Listeners() == 1 })
			last := api.Post("1", "", 3)
			await(t, "what is recorded", func() bool { return strings.Contains(parts(collection), `"id":"`+last+`"`) })
			if step == "" {
				must(t, cmd.Process.Signal(syscall.SIGKILL))
			}
			leave(t, dir, "harvest.stop.mastodon.mastodon_stream", "st-stop", `{"id":"st"}`)
			if cmd.Wait() == nil {
				t.Fatalf("it was not killed:\n%s", said)
			}
			open, err := filepath.Glob(filepath.Join(collection, ".harvest", "st", "*.open"))
			if err != nil || len(open) != 1 || parts(collection) == "" {
				t.Fatalf("%v are left, %v", open, err)
			}
			if step == "" {
				must(t, os.Remove(open[0]))
			}
			cmd, said = order{Dir: dir, Base: api.URL, Size: 1 << 20}.begin(t)
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v:\n%s", err, said)
			}
			found := archived(t, collection)
			for id, n := range found {
				if n != 1 {
					t.Errorf("%s is archived %d times", id, n)
				}
			}
			if len(found) != 3 {
				t.Errorf("%d of 3 are archived", len(found))
			}
		})
	}
}
