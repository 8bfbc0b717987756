package harvest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/sfm/platform/apitest"
	"srpump/pipeline/spool"
)

// A served spool is one that is being served, and what is said of its harvests.
type served struct {
	*desk
	dir string
	end func() // waits until all has ended
}

func (d *desk) serve(dir string, jobs int) *served {
	d.t.Helper()
	ctx, stop := context.WithCancel(d.t.Context())
	s := &harvest.Service{Dir: filepath.Join(dir, "spool"), Harvester: harvest.New(d.options), Jobs: jobs, Log: d.options.Log, Now: d.options.Now}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	end := sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			d.t.Error(err)
		}
	})
	d.t.Cleanup(end)
	return &served{d, dir, end}
}

func (s *served) count(sub string) int {
	names, _ := spool.List(filepath.Join(s.dir, "spool", sub))
	return len(names)
}

// request is one in a collection of its own.
func (s *served) request(id, collection string) string {
	return fmt.Sprintf(`{"id":%q,"type":"flickr_user","path":%q,"seeds":%s,"collection_set":{"id":"s"},"collection":{"id":"k"},"credentials":{"key":"0123456789abcdef"}}`,
		id, filepath.Join(s.dir, collection), joe)
}

const flickrStart = "harvest.start.flickr.flickr_user"

// What is no request is set aside with its reason, somebody else's stays, what a person leaves under any
// name is taken, and stops of what is not there go.
func TestServeOddFiles(t *testing.T) {
	d, _ := newFlickrDesk(t, 1)
	s := &served{d, t.TempDir(), nil}
	in := filepath.Join(s.dir, "spool", "in")
	leave(t, s.dir, flickrStart, "1", "{bad")
	leave(t, s.dir, flickrStart, "2", `["no object"]`)
	leave(t, s.dir, "harvest.stop.flickr.flickr_user", "3", `{"id":"unknown"}`)
	leave(t, s.dir, "export.start.flickr.flickr_user", "4", `{"id":"x"}`)
	must(t, os.WriteFile(filepath.Join(in, "by-hand.json"), []byte(s.request("h1", "c1")), 0o644))
	must(t, os.WriteFile(filepath.Join(in, "junk.json"), []byte("what?"), 0o644))
	leave(t, s.dir, "some.other.key", "5", s.request("h5", "c5"))
	leave(t, s.dir, "harvest.startle.me", "6", s.request("h6", "c6"))
	leave(t, s.dir, flickrStart, "7", strings.Replace(s.request("", "c7"), `"id":"",`, "", 1))
	leave(t, s.dir, flickrStart, "8", s.request("", "c8"))
	must(t, os.WriteFile(filepath.Join(in, "typeless.json"), []byte(strings.Replace(s.request("h9", "c9"), `"type":"flickr_user",`, "", 1)), 0o644))
	s = d.serve(s.dir, 2)
	await(t, "the end of all", func() bool { return s.count("in") == 3 && strings.Contains(d.words(), "completed") })
	s.end()
	if d.words() != "running, warc_created, running, completed success" {
		t.Errorf("said %s", d.words())
	}
	names, err := os.ReadDir(filepath.Join(s.dir, "spool", "failed"))
	must(t, err)
	bodies, reasons := 0, 0
	for _, e := range names {
		switch filepath.Ext(e.Name()) {
		case ".why":
			reasons++
		case ".meta":
		default:
			bodies++
		}
	}
	if bodies != 6 || reasons != 6 {
		t.Errorf("set aside are %v", names)
	}
}

// A request for a place that is not served is refused by name, and nothing is made there.
func TestServedPlaces(t *testing.T) {
	d, _ := newFlickrDesk(t, 1)
	at := filepath.Dir(d.collection)
	d.options.Prefixes = sfm.Prefixes{{Message: "/sfm-data", Local: at}}
	outside := filepath.Join(t.TempDir(), "x")
	for _, path := range []string{"/sfm-data/.." + outside, outside} {
		job := d.job("a1", "flickr_user", joe)
		job.Body = []byte(strings.Replace(string(job.Body), d.collection, path, 1))
		d.run(t.Context(), job, harvest.Failed)
		if e := d.last().Errors; codes(e) != sfm.BadRequest || !strings.Contains(e[0].Message, "path ") {
			t.Errorf("%s: %v", path, e)
		}
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("it was made")
	}
	d.options.Prefixes = nil
	d.options.Announce = &harvest.Announce{Out: d, Dir: "/srv/elsewhere"}
	d.run(t.Context(), d.job("a2", "flickr_user", joe), harvest.Failed)
	if e := d.last().Errors; codes(e) != sfm.BadRequest || !strings.Contains(e[0].Message, "-d") {
		t.Errorf("what is not announced: %v", e)
	}
}

// Harvests of different collections go on at once, of one collection one after the other, and those with
// priority first.
func TestServeTogether(t *testing.T) {
	d, api := newFlickrDesk(t, 2)
	arrived, goOn := make(chan struct{}, 10), make(chan struct{})
	api.Fail("method=flickr.people.findByUsername", -1, apitest.Held(arrived, goOn, api.Real))
	s := &served{d, t.TempDir(), nil}
	for i, collection := range []string{"c1", "c1", "c2", "c3", "c4"} {
		key := flickrStart
		if collection == "c4" {
			key += ".priority"
		}
		leave(t, s.dir, key, fmt.Sprint(i), s.request(fmt.Sprint("h", i), collection))
	}
	s = d.serve(s.dir, 3)
	for range 3 {
		<-arrived
	}
	began := make(map[string]bool)
	for _, status := range d.statuses() {
		began[status.ID] = true
	}
	if len(began) != 3 || !began["h4"] || !began["h0"] || !began["h2"] {
		t.Errorf("began with %v", began)
	}
	close(goOn)
	await(t, "the end of all", func() bool { return s.count("in") == 0 })
	s.end()
	if n := strings.Count(d.words(), "completed success"); n != 5 {
		t.Errorf("said %s", d.words())
	}
}

// A spool is served by one at a time, and at its end its harvests pause; the next one goes on.
func TestServePauses(t *testing.T) {
	d, api := newFlickrDesk(t, 8)
	arrived, goOn := make(chan struct{}, 10), make(chan struct{})
	api.Fail("photo_id=104", 1, apitest.Held(arrived, goOn, api.Real))
	dir := t.TempDir()
	s := &served{d, dir, nil}
	leave(t, dir, flickrStart, "1", s.request("h1", "c1"))
	s = d.serve(dir, 2)
	<-arrived
	second := harvest.Service{Dir: filepath.Join(dir, "spool"), Harvester: harvest.New(d.options), Jobs: 1, Log: d.options.Log, Now: d.options.Now}
	if err := second.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "another sfm_harvest") {
		t.Errorf("the second says %v", err)
	}
	go close(goOn)
	s.end()
	if !strings.HasSuffix(d.words(), "paused") || s.count("in") != 1 {
		t.Errorf("said %s", d.words())
	}
	s = d.serve(dir, 2)
	await(t, "the end", func() bool { return s.count("in") == 0 })
	s.end()
	if last := d.last(); last.Status != sfm.Success || counted(last) != 8 {
		t.Errorf("ended with %+v", last)
	}
}

// A stop message ends one harvest and no other.
func TestServeStop(t *testing.T) {
	d, api := newFlickrDesk(t, 8)
	arrived, goOn := make(chan struct{}, 10), make(chan struct{})
	api.Fail("photo_id=104", 2, apitest.Held(arrived, goOn, api.Real))
	dir := t.TempDir()
	s := &served{d, dir, nil}
	leave(t, dir, flickrStart, "1", s.request("h1", "c1"))
	leave(t, dir, flickrStart, "2", s.request("h2", "c2"))
	s = d.serve(dir, 2)
	<-arrived
	<-arrived
	leave(t, dir, "harvest.stop.flickr.flickr_user", "3", `{"id":"h1"}`)
	await(t, "the stop", func() bool { return strings.Contains(d.log.String(), "stop") })
	close(goOn)
	await(t, "the end", func() bool { return s.count("in") == 0 })
	s.end()
	ends := make(map[string]int64)
	for _, status := range d.statuses() {
		if status.Status == sfm.Success {
			ends[status.ID] = counted(status)
		}
	}
	if len(ends) != 2 || ends["h1"] >= 8 || ends["h2"] != 8 {
		t.Errorf("ended with %v", ends)
	}
}
