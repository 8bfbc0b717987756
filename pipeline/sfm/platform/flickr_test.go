package platform

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/sfm/platform/apitest"
)

// A flickrDesk is a harvester of one collection and the server it asks.
type flickrDesk struct {
	t          *testing.T
	api        *apitest.Flickr
	collection string
	said       []said
	number     uint64
	options    harvest.Options
}

type said struct {
	key  string
	body []byte
}

func (d *flickrDesk) Next(least uint64) uint64 { d.number = max(d.number+1, least); return d.number }
func (d *flickrDesk) Put(_ uint64, key, _ string, _ map[string]any, body []byte) error {
	d.said = append(d.said, said{key, body})
	return nil
}

func openFlickrDesk(t *testing.T) *flickrDesk {
	d := &flickrDesk{t: t, api: apitest.OpenFlickr(t), collection: filepath.Join(t.TempDir(), "s", "k")}
	d.options = harvest.Options{Out: d, Types: Types(), Bases: map[string]string{"flickr_user": d.api.Base}, Tries: 2, Paused: true,
		Patience: harvest.Patience{Tries: 2, Pause: time.Millisecond}, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Host: "here", Instance: "1", Software: "test"}
	return d
}

// run harvests and returns what was said.
func (d *flickrDesk) run(id, seeds string) []said {
	d.t.Helper()
	d.said = nil
	body := fmt.Sprintf(`{"id":%q,"type":"flickr_user","path":%q,"seeds":%s,"options":{"incremental":true},"credentials":{"key":"0123456789abcdef","secret":"ghijklmn"},
		"collection_set":{"id":"s"},"collection":{"id":"k"},"extra":{"unknown":[1]}}`, id, d.collection, seeds)
	outcome, err := harvest.New(d.options).Run(context.Background(), harvest.Job{Body: []byte(body), Key: "harvest.start.flickr.flickr_user"})
	if err != nil || outcome != harvest.Succeeded {
		d.t.Fatalf("outcome %v, %v; said %s", outcome, err, d.said)
	}
	return d.said
}

func (d *flickrDesk) status(m said) *sfm.Status {
	d.t.Helper()
	if m.key != "harvest.status.flickr.flickr_user" {
		d.t.Fatalf("%s is no status: %s", m.key, m.body)
	}
	s, err := sfm.ParseStatus(m.body)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

func (d *flickrDesk) mark() any {
	var state map[string]map[string]any
	raw, err := os.ReadFile(filepath.Join(d.collection, "state.json"))
	if err == nil {
		err = json.Unmarshal(raw, &state)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return state["flickr_harvester"]["9@N01.last_photo_id"]
}

func keys(all []said) string {
	var out []string
	for _, m := range all {
		out = append(out, m.key)
	}
	return strings.Join(out, " ")
}

// photos are the calls for photos since they were last asked for.
func (d *flickrDesk) photos() int {
	n := len(d.api.Asked("method=flickr.photos."))
	d.api.Forget()
	return n
}

const flickrTalk = "harvest.status.flickr.flickr_user warc_created harvest.status.flickr.flickr_user harvest.status.flickr.flickr_user"

// A first harvest, one with nothing new, and one with a new photo.
func TestFlickrUser(t *testing.T) {
	d := openFlickrDesk(t)
	d.api.User("9@N01", "joe")
	d.api.Post("9@N01", 1, 2, 3)
	seed := `[{"id":"S1","token":"joe"}]`
	all := d.run("a1", seed)
	if got := keys(all); got != flickrTalk {
		t.Fatalf("said %s", got)
	}
	today := time.Now().Format(time.DateOnly)
	first, after, last := d.status(all[0]), d.status(all[2]), d.status(all[3])
	if first.Status != "running" || len(first.Stats) != 0 || first.Warcs != (sfm.Warcs{}) {
		t.Errorf("began with %s", all[0].body)
	}
	if after.Status != "running" || after.Stats[today]["flickr photos"] != 3 || after.Warcs.Count != 1 || after.UIDs["S1"] != "9@N01" {
		t.Errorf("went on with %s", all[2].body)
	}
	if last.Status != "completed success" || len(last.UIDs) != 0 || last.Stats[today]["flickr photos"] != 3 || last.Ended.Before(last.Started.Time) {
		t.Errorf("ended with %s", all[3].body)
	}
	if d.mark() != "3" {
		t.Errorf("the mark is %v", d.mark())
	}
	d.api.Forget()
	all = d.run("a2", seed)
	if got := d.photos(); got != 0 || keys(all) != flickrTalk || len(d.status(all[3]).Stats) != 0 {
		t.Errorf("asked again for %d, said %s", got, all)
	}
	d.api.Post("9@N01", 4)
	all = d.run("a3", seed)
	if got := d.photos(); got != 2 || d.status(all[3]).Stats[today]["flickr photos"] != 1 || d.mark() != "4" {
		t.Errorf("asked for %d, mark %v, said %s", got, d.mark(), all)
	}
}

// A seed that is known by its id tells of its new name once, and of none that is the same.
func TestFlickrRenamed(t *testing.T) {
	d := openFlickrDesk(t)
	d.api.User("9@N01", "joe2")
	d.api.Post("9@N01", 1)
	all := d.run("a1", `[{"id":"S1","token":"joe","uid":"9@N01"}]`)
	if got := d.status(all[2]); got.TokenUpdates["S1"] != "joe2" || len(got.UIDs) != 0 {
		t.Errorf("said %s", all[2].body)
	}
	if got := d.status(all[3]); len(got.TokenUpdates) != 0 {
		t.Errorf("said %s", all[3].body)
	}
}

// Users that are not there are warned of, by what they were asked for, and the others are harvested.
func TestFlickrUnknownUsers(t *testing.T) {
	d := openFlickrDesk(t)
	d.api.User("9@N01", "joe")
	d.api.User("10@N01", "12345")
	d.api.Post("9@N01", 1)
	d.api.Post("10@N01", 2)
	all := d.run("a1", `[{"id":"S1","token":"nobody"},{"id":"S2","uid":"1@N99"},{"id":"S3","token":"joe"},{"id":"S4","token":12345},{"id":"S5","token":1e5}]`)
	last := d.status(all[len(all)-1])
	var warned []string
	for _, n := range last.Warnings {
		warned = append(warned, n.Code+" "+n.SeedID)
	}
	if got := strings.Join(warned, ", "); got != "token_not_found S1, uid_not_found S2, token_not_found S5" {
		t.Errorf("warned of %s", got)
	}
	if n := last.Stats[time.Now().Format(time.DateOnly)]["flickr photos"]; n != 2 {
		t.Errorf("%d photos are counted", n)
	}
	if got := d.api.Asked("username=1e5"); len(got) != 1 {
		t.Errorf("asked %d times for 1e5", len(got))
	}
}

// The photo of the mark was removed: the walk ends all the same, with what is newer.
func TestFlickrMarkRemoved(t *testing.T) {
	d := openFlickrDesk(t)
	d.api.User("9@N01", "joe")
	d.api.Post("9@N01", 1, 2, 3)
	d.run("a1", `[{"id":"S1","token":"joe"}]`)
	d.api.Remove("9@N01", 3)
	d.api.Post("9@N01", 4)
	d.api.Forget()
	d.run("a2", `[{"id":"S1","token":"joe"}]`)
	if len(d.api.Asked("photo_id=4")) != 2 || d.mark() != "4" {
		t.Errorf("the mark is %v", d.mark())
	}
}

// More than a page, of which some photos are gone meanwhile and more came: none is left out.
func TestFlickrPages(t *testing.T) {
	d := openFlickrDesk(t)
	d.api.User("9@N01", "joe")
	for id := range 620 {
		d.api.Post("9@N01", 1000+id)
	}
	d.api.Fail("photo_id=1030&", 2, apitest.Status(500))
	d.api.Fail("method=flickr.photos.getSizes&api_key=0123456789abcdef&format=json&nojsoncallback=1&photo_id=1100", 1, func(w http.ResponseWriter, r *http.Request) {
		d.api.Post("9@N01", 2001, 2002, 2003)
		d.api.Real(w, r)
	})
	all := d.run("a1", `[{"id":"S1","token":"joe"}]`)
	if n := d.status(all[len(all)-1]).Stats[time.Now().Format(time.DateOnly)]["flickr photos"]; n != 620 {
		t.Errorf("%d photos are counted", n)
	}
	d.api.Forget()
	all = d.run("a2", `[{"id":"S1","token":"joe"}]`)
	if d.photos() != 6 || d.mark() != "2003" || d.status(all[3]).Status != "completed success" {
		t.Errorf("the mark is %v", d.mark())
	}
}

// Flickr does not take the key: that is not tried again.
func TestFlickrKey(t *testing.T) {
	d := openFlickrDesk(t)
	d.api.Fail("", -1, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"stat":"fail","code":100,"message":"Invalid API Key (Key not found)"}`)
	})
	body := fmt.Sprintf(`{"id":"a1","type":"flickr_user","path":%q,"seeds":[{"id":"S1","token":"joe"}],"collection_set":{"id":"s"},"collection":{"id":"k"}}`, d.collection)
	outcome, err := harvest.New(d.options).Run(context.Background(), harvest.Job{Body: []byte(body), Key: "harvest.start.flickr.flickr_user"})
	if last := d.status(d.said[len(d.said)-1]); outcome != harvest.Failed || err != nil || last.Errors[0].Code != "unauthorized" || len(d.api.Asked("")) != 1 {
		t.Errorf("outcome %v, %v, %+v", outcome, err, last)
	}
}
