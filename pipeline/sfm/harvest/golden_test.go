package harvest_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/harvest"
	"srpump/pipeline/sfm/platform/apitest"
)

// transcript is what was said, with what is another each time replaced by words.
func (d *desk) transcript() string {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	var out bytes.Buffer
	for _, m := range d.said {
		out.WriteString(m.key + "\n")
		must(d.t, json.Indent(&out, m.body, "", " "))
		out.WriteString("\n\n")
	}
	text := out.String()
	for _, rule := range [][2]string{
		{`"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?(Z|[+-]\d\d:\d\d)"`, `"TIME"`},
		{`"20\d\d-\d\d-\d\d"`, `"TODAY"`},
		{`/20\d\d/\d\d/\d\d/\d\d/`, `/YYYY/MM/DD/HH/`},
		{`-\d{17}-(\d{5})-[a-z]{8}\.warc`, `-STAMP-$1-RANDOM.warc`},
		{`"sha1": "[0-9a-f]{40}"`, `"sha1": "SHA1"`},
		{`"bytes": [1-9]\d*`, `"bytes": BYTES`},
		{`"id": "([0-9a-f]{12})5([0-9a-f]{19})"`, `"id": "DERIVED"`},
	} {
		text = regexp.MustCompile(rule[0]).ReplaceAllString(text, rule[1])
	}
	return text
}

func (d *desk) compare(golden string) {
	d.t.Helper()
	got := d.transcript()
	want, err := os.ReadFile(filepath.Join("testdata", golden))
	if err != nil || got != string(want) {
		d.t.Errorf("%v; said:\n%s", err, got)
	}
}

// The flow of a REST harvest, "Harvesting social media content" in the messaging specification of SFM, with
// the harvest start message it prints.
func TestTranscriptOfREST(t *testing.T) {
	api := apitest.OpenFlickr(t)
	api.User("131866249@N02", "j.littman")
	api.User("671366249@N03", "library_of_congress")
	api.Post("131866249@N02", 16609036938)
	api.Post("671366249@N03", 16796603565)
	d := newDesk(t, api.Base)
	d.options.Links = true
	d.options.Prefixes = sfm.Prefixes{{Message: "/sfm-data", Local: d.collection}}
	body := `{
        "id": "sfmui:45",
        "type": "flickr_user",
        "path": "/sfm-data/collections/3989a5f99e41487aaef698680537c3f5/6980fac666c54322a2ebdbcb2a9510f5",
        "seeds": [
            {
                "id": "a36fe186fbfa47a89dbb0551e1f0f181",
                "token": "justin.littman",
                "uid": "131866249@N02"
            },
            {
                "id": "ab0a4d9369324901a890ec85f00194ac",
                "token": "library_of_congress"
            }
        ],
        "options": {
            "sizes": ["Thumbnail", "Large", "Original"]
        },
        "credentials": {
            "key": "abddfe6fb8bba36e8ef0278ec65dbbc8",
            "secret": "1642649c54cc3ebe"
        },
        "collection_set": {
            "id": "3989a5f99e41487aaef698680537c3f5"
        },
        "collection": {
            "id": "6980fac666c54322a2ebdbcb2a9510f5"
        }
    }`
	d.run(t.Context(), harvest.Job{Body: []byte(body), Key: "harvest.start.flickr.flickr_user"}, harvest.Succeeded)
	d.compare("rest.golden")
}

// The flow of a stream harvest that makes two WARCs and is stopped.
func TestTranscriptOfStream(t *testing.T) {
	api := openMastodon(t)
	d := newDesk(t, api.URL)
	d.options.Roll, d.options.Links = 2*time.Second, true
	d.stream("sfmui:46", func(stop func()) {
		await(t, "the listener", func() bool { return api.Listeners() == 1 })
		api.Post("1", "", 2)
		await(t, "the first file", func() bool { return strings.Contains(d.words(), "warc_created, running") })
		await(t, "the listener", func() bool { return api.Listeners() == 1 })
		last := api.Post("1", "", 3)
		await(t, "what is recorded", func() bool { return strings.Contains(parts(d.collection), `"id":"`+last+`"`) })
		stop()
	})
	text := strings.ReplaceAll(d.transcript(), d.collection, "/sfm-data/collection")
	d.said = nil
	want, err := os.ReadFile("testdata/stream.golden")
	if err != nil || text != string(want) {
		t.Errorf("%v; said:\n%s", err, text)
	}
}
