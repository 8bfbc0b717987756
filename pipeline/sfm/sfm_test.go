package sfm

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// example is one of the messages printed in the contract.
func example(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTheContractsStartMessagesAreRead(t *testing.T) {
	s, err := ParseStart(example(t, "start-flickr"))
	if err != nil {
		t.Fatal(err)
	}
	if s.ID != "sfmui:45" || s.Type != "flickr_user" || s.Collection != "6980fac666c54322a2ebdbcb2a9510f5" || s.CollectionSet != "3989a5f99e41487aaef698680537c3f5" {
		t.Errorf("read %+v", s)
	}
	if len(s.Seeds) != 2 || s.Seeds[0].UID != "131866249@N02" || s.Seeds[1].Token.String() != "library_of_congress" || s.Credentials["key"] != "abddfe6fb8bba36e8ef0278ec65dbbc8" {
		t.Errorf("read %+v", s)
	}
	if !reflect.DeepEqual(s.Options["sizes"], []any{"Thumbnail", "Large", "Original"}) {
		t.Errorf("sizes are %v", s.Options["sizes"])
	}
	if _, err := ParseStart(example(t, "start-twitter")); err != nil {
		t.Error(err)
	}
	web, err := ParseStart(example(t, "start-web"))
	if err != nil || web.ParentID != "sfmui:45" || web.Options != nil {
		t.Errorf("web: %+v, %v", web, err)
	}
	stop, err := ParseStop(example(t, "stop"))
	if err != nil || stop.ID != "sfmui:45" {
		t.Errorf("stop: %+v, %v", stop, err)
	}
}

func TestTheContractsExportMessagesAreRead(t *testing.T) {
	e, err := ParseExportStart(example(t, "export"))
	if err != nil || e.Collection != "005b131f5f854402afa2b08a4b7ba960" || e.SegmentSize != 100000 || !e.Dedupe || e.ItemDateStart.String() != "2015-07-28T11:17:36.640178Z" {
		t.Errorf("read %+v, %v", e, err)
	}
	e, err = ParseExportStart(example(t, "export-seeds"))
	if err != nil || len(e.Seeds) != 2 || e.Seeds[1].UID != "85779209@N08" || e.SegmentSize != 0 || e.Collection != "" {
		t.Errorf("read %+v, %v", e, err)
	}
}

func TestTheContractsMalformedMessagesAreRejectedWithTheirPlace(t *testing.T) {
	for name, parse := range map[string]func([]byte) error{
		"status-malformed:3:5":        func(b []byte) error { _, err := ParseStatus(b); return err },
		"created-malformed:3:161":     func(b []byte) error { _, err := ParseCreated(b); return err },
		"export-status-malformed:3:5": func(b []byte) error { _, err := ParseExportStatus(b); return err },
	} {
		f := strings.Split(name, ":")
		err := parse(example(t, f[0]))
		var at *SyntaxError
		if !errors.As(err, &at) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want := "line " + f[1] + ", column " + f[2] + ": "; !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

const start = `{"id":"a1","type":"web","path":"/c","collection_set":{"id":"s"},"collection":{"id":"k"},"seeds":[{"id":"S1","token":TOKEN}],"x":{"y":[1]}}`

// Requesters send as a number what a person typed as a screen name.
func TestTokensAreWhatWasTyped(t *testing.T) {
	for raw, want := range map[string]string{`12345`: "12345", `true`: "true", `1e5`: "1e5", `90071992547409931`: "90071992547409931",
		`"a\u00e9"`: "aé", `{ "query": "q" }`: `{"query":"q"}`, `[1, 2]`: "[1,2]"} {
		s, err := ParseStart([]byte(strings.Replace(start, "TOKEN", raw, 1)))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		token := s.Seeds[0].Token
		if token.String() != want {
			t.Errorf("%s became %q", raw, token)
		}
		if m, ok := token.Object(); ok != (raw[0] == '{') || ok && m["query"] != "q" {
			t.Errorf("%s as an object is %v, %v", raw, m, ok)
		}
	}
	if s := Text("a\"b").String(); s != `a"b` {
		t.Errorf("a text became %s", s)
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	whole := strings.Replace(start, "TOKEN", `"t"`, 1)
	for member, change := range map[string][2]string{
		"id": {`"id":"a1"`, `"no":1`}, "type": {`"type":"web"`, `"type":""`}, "path": {`"path":"/c"`, `"path":"c"`}, "collection.id": {`"collection":`, `"c":`},
		"collection_set.id": {`"collection_set":`, `"c":`}, "seeds[0].token": {`"token":"t"`, `"no":1`}, "seeds[0].id": {`"type":"web","path":"/c"`, `"type":"feed","path":"/c"`},
	} {
		text := strings.Replace(whole, change[0], change[1], 1)
		if member == "seeds[0].id" {
			text = strings.Replace(text, `"id":"S1",`, "", 1)
		}
		s, err := ParseStart([]byte(text))
		var e *MemberError
		if !errors.As(err, &e) || e.Member != member {
			t.Errorf("%s: %v", member, err)
		}
		if (s == nil) != (member == "id") || s != nil && s.ID != "a1" {
			t.Errorf("%s: what could be read is not returned: %+v", member, s)
		}
	}
}

func TestNullIsNoToken(t *testing.T) {
	_, err := ParseStart([]byte(strings.Replace(start, "TOKEN", "null", 1)))
	var e *MemberError
	if !errors.As(err, &e) || e.Member != "seeds[0].token" {
		t.Errorf("a token null: %v", err)
	}
}

// A path cannot leave what the prefixes say, and none is taken that they do not speak of.
func TestPrefixes(t *testing.T) {
	all := Prefixes{{"/sfm-data", "/srv/sfm"}, {"/sfm-data/export", "/srv/out"}}
	for name, want := range map[string]string{
		"/sfm-data/c/1": "/srv/sfm/c/1", "/sfm-data//c/./1": "/srv/sfm/c/1", "/sfm-data": "/srv/sfm", "/sfm-data/export/1": "/srv/out/1", "/srv/sfm/c": "/srv/sfm/c",
		"/sfm-data/../../../etc/x": "", "/srv/sfm/../x": "", "/sfm-database/c": "", "/etc": "", "sfm-data/c": "",
	} {
		got, err := all.Resolve(name)
		var e *MemberError
		if got != want || (want == "") != (errors.As(err, &e) && e.Member == "path") {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	if got, err := (Prefixes)(nil).Resolve("/any/where"); got != "/any/where" || err != nil {
		t.Errorf("without prefixes it is %q, %v", got, err)
	}
	if _, err := ParseStart([]byte(strings.NewReplacer("TOKEN", "1", `"path":"/c"`, `"path":"/c/../d"`).Replace(start))); err == nil || !strings.Contains(err.Error(), "path") {
		t.Errorf("a path with .. is taken: %v", err)
	}
}

func TestWrongTypesAreTold(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":` + "\n" + `  5}`:         "line 2, column 3: id is a number, not a string",
		`[1]`:                            "line 1, column 1: the message is not an object",
		``:                               "line 1, column 1: the message is cut off",
		"{\"id\":\n \"\xff\"}":           "line 2, column 3: the message is not UTF-8",
		`{"id":"a"} {`:                   "line 1, column 12: invalid character",
		`{"id":"a","seeds":{}}`:          "seeds is an object, not an array",
		`{"id":"a","seeds":[{"uid":1}]}`: "seeds.uid is a number, not a string",
	} {
		if _, err := ParseStart([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestMessagesComeBackAsTheyWereMade(t *testing.T) {
	now := At(time.Date(2026, 11, 20, 23, 43, 23, 952688000, time.FixedZone("", -5*3600)))
	status := &Status{ID: "a1", Status: Running, Started: now, Infos: []Note{}, Warnings: []Note{{"token_not_found", "no joe", "S1"}}, Errors: []Note{}, Stats: Stats{},
		TokenUpdates: map[string]string{"S1": "joe2"}, UIDs: map[string]string{}, Warcs: Warcs{1, 20}, Service: "Flickr Harvester", Host: "h", Instance: "39"}
	status.Stats.Add("2026-11-20", "flickr photos", 3)
	created := &Created{"w", "/c/a.warc.gz", strings.Repeat("0a", 20), 26146, now, "s", "k", "a1", "flickr_user"}
	export := &ExportStatus{ID: "e", Status: Success, Started: now, Ended: now, Infos: []Note{}, Warnings: []Note{}, Errors: []Note{}}
	for _, m := range []struct {
		made  any
		parse func([]byte) (any, error)
	}{
		{status, func(b []byte) (any, error) { return ParseStatus(b) }},
		{created, func(b []byte) (any, error) { return ParseCreated(b) }},
		{export, func(b []byte) (any, error) { return ParseExportStatus(b) }},
	} {
		text, err := json.Marshal(m.made)
		if err != nil {
			t.Fatal(err)
		}
		read, err := m.parse(text)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := json.Marshal(read)
		if string(again) != string(text) {
			t.Errorf("%s came back as %s", text, again)
		}
	}
}

func TestStartsComeBackAsTheyWereMade(t *testing.T) {
	s := &Start{ID: "w1", Type: TypeWeb, Path: "/c", ParentID: "a1", Seeds: []Seed{{Token: Text("http://h.example/?a=1&b=2")}}, CollectionSet: "s", Collection: "k"}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseStart(text)
	if err != nil {
		t.Fatal(err)
	}
	back.Raw = nil
	if !reflect.DeepEqual(s, back) {
		t.Errorf("%+v came back as %+v", s, back)
	}
	e := &ExportStart{ID: "e", Type: "flickr_user", Seeds: []ExportSeed{{"S1", "9@N01"}}, Path: "/e", Format: "csv", SegmentSize: 5, HarvestDateStart: "2015-01-01"}
	text, _ = json.Marshal(e)
	again, err := ParseExportStart(text)
	if err != nil {
		t.Fatal(err)
	}
	again.Raw = nil
	if !reflect.DeepEqual(e, again) {
		t.Errorf("%+v came back as %+v", e, again)
	}
}

func TestStatusHasItsListsAlsoWhenEmpty(t *testing.T) {
	text, err := json.Marshal(Status{ID: "a", Status: Running, Started: At(time.Unix(1e9, 0).UTC())})
	want := `{"id":"a","status":"running","date_started":"2001-09-09T01:46:40Z","infos":[],"warnings":[],"errors":[],"stats":{},"token_updates":{},"uids":{},"warcs":{"count":0,"bytes":0}}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]string{
		"2015-07-28T11:17:36.640044": "2015-07-28T11:17:36.640044Z", "2015-07-28T11:17:36": "2015-07-28T11:17:36Z", "2015-07-28T11:17:36Z": "2015-07-28T11:17:36Z",
		"2026-11-20T23:43:23.952688-05:00": "2026-11-20T23:43:23.952688-05:00", "2015-07-28": "2015-07-28T00:00:00Z", "2015-07-28 11:17:36": "2015-07-28T11:17:36Z",
	} {
		got, err := ParseTime(text)
		if err != nil || got.String() != want {
			t.Errorf("%s became %s, %v", text, got, err)
		}
	}
	if _, err := ParseTime("yesterday"); err == nil {
		t.Error("yesterday is a time")
	}
}

func TestKeys(t *testing.T) {
	for start, want := range map[string]string{
		"harvest.start.flickr.flickr_user": "harvest.status.flickr.flickr_user", "harvest.start.web": "harvest.status.web",
		"harvest.start.twitter.twitter_search.priority": "harvest.status.twitter.twitter_search.priority", "harvest.start.start.start": "harvest.status.start.start",
	} {
		if got := StatusKey(start); got != want {
			t.Errorf("%s became %s", start, got)
		}
		k, ok := ParseKey(start)
		if !ok || k.String() != start {
			t.Errorf("%s is %+v, %v", start, k, ok)
		}
	}
	for _, key := range []string{"", "harvest", CreatedKey, "harvest.begin.web", "a.start.b.c", "harvest.start.a.b.c", "harvest.start."} {
		if k, ok := ParseKey(key); ok {
			t.Errorf("%q is %+v", key, k)
		}
	}
}

func TestSafeNames(t *testing.T) {
	long := SafeName("../" + strings.Repeat("x", 300))
	for id, want := range map[string]string{"x:1/ü": "x_1__", "sfmui:45": "sfmui_45", "../../etc/passwd": "______etc_passwd", "a\x00\n": "a__"} {
		if got := SafeName(id); got != want {
			t.Errorf("%q became %q", id, got)
		}
	}
	if len(long) != 128 || long == SafeName("../"+strings.Repeat("x", 301)) {
		t.Errorf("a long id became %q", long)
	}
}

// Whatever is read can be written, and what was written reads as the same.
func FuzzStart(f *testing.F) {
	for _, name := range []string{"start-flickr", "start-web", "status-malformed", "export"} {
		data, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseStart(data)
		if err != nil {
			return
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseStart(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if again.ID != s.ID || len(again.Seeds) != len(s.Seeds) || again.Path != s.Path {
			t.Errorf("%s became %s", data, text)
		}
	})
}
