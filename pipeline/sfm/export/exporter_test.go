package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"srpump/pipeline/sfm"
)

// What is asked for with a message is answered with statuses, and the files are those of the API.
func TestExport(t *testing.T) {
	dir := t.TempDir()
	a, b := archive(t, dir+"/a", photo("1", "x", 1)), archive(t, dir+"/b", photo("2", "y", 1))
	s, api := serve(t, Warc{ID: "b", Path: b, Created: sfm.At(time.Unix(2, 0))}, Warc{ID: "a", Path: a, Created: sfm.At(time.Unix(1, 0))}, Warc{ID: "a2", Path: a, Created: sfm.At(time.Unix(1, 0))})
	s.seeds = map[string][]string{"s": {"a", "b"}}
	for n, test := range []struct{ rest, said, files string }{
		{ofCollection + `,"harvest_date_start":"2020-01-01"`, "running, completed success", "1\n2\n"},
		{`"format":"dehydrate","seeds":[{"id":"s","uid":"y"}]`, "running, completed success", "2\n"},
		{`"format":"dehydrate","seeds":[{"id":"s","uid":"y"},{"id":"s2","uid":null}]`, "running, completed success", "1\n2\n"},
		{`"format":"dehydrate","seeds":[{"id":"nobody","uid":"y"}]`, "running, completed failure no_warcs", ""},
		{`"format":"odt","collection":{"id":"c"}`, "running, completed failure unsupported_export_format", ""},
		{`"format":"csv"`, "running, completed failure bad_request", ""},
		{`"format":7,"collection":{"id":"c"}`, "running, completed failure bad_request", ""},
	} {
		out, told := dir+"/out/"+fmt.Sprint(n), &said{}
		s.asked = nil
		outcome, err := exporter(api, told, "").Run(t.Context(), Job{Body: ask(out, test.rest), Key: "export.start.flickr.flickr_user.priority"})
		if err != nil || told.words() != test.said || (outcome == Succeeded) != (test.files != "") {
			t.Errorf("%s: %v, %v, said %q", test.rest, outcome, err, told.words())
		}
		if test.files != "" && contents(t, out)["e_1_001.txt"] != test.files {
			t.Errorf("%s: %q", test.rest, contents(t, out))
		}
		if _, err := os.Stat(out); test.files == "" && err == nil {
			t.Errorf("%s: something was written", test.rest)
		}
		if told.keys[0] != "export.status.flickr.flickr_user.priority" || told.statuses[0].Service != "Flickr Exporter" || told.statuses[0].Instance != "7" {
			t.Errorf("%s: said %+v under %q", test.rest, told.statuses[0], told.keys)
		}
		if n := len(s.asked); test.files != "" && n > 0 && s.asked[0].Get("collection") != "" && s.asked[0].Get("harvest_date_start") != "2020-01-01" {
			t.Errorf("asked %v", s.asked)
		}
	}
}

// What the API names and is not there, or is no file, is missing; the rest is exported.
func TestExportMissing(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	_, api := serve(t, Warc{ID: "1", Path: dir + "/gone"}, Warc{ID: "2", Path: dir + "/fifo"}, Warc{ID: "3", Path: archive(t, dir+"/a", photo("1", "x", 1))})
	told := &said{}
	var log bytes.Buffer
	x := exporter(api, told, "")
	x.o.Log = slog.New(slog.NewTextHandler(&log, nil))
	outcome, err := x.Run(t.Context(), Job{Body: ask(dir+"/out", ofCollection)})
	if strings.Count(log.String(), `level=ERROR msg="export error" export="e 1" code=warc_missing`) != 2 {
		t.Errorf("logged %s", log.String())
	}
	if err != nil || outcome != Failed || told.words() != "running, completed failure warc_missing warc_missing" || contents(t, dir+"/out")["e_1_001.txt"] != "1\n" {
		t.Error(outcome, err, told.words())
	}
	if told.keys[1] != "export.status.flickr.flickr_user" {
		t.Errorf("said under %q", told.keys)
	}
}

var errKilled = errors.New("killed")

// killed runs an export that dies before a step.
func killed(x *Exporter, step string, job Job) {
	defer func() {
		if r := recover(); r != nil && r != errKilled {
			panic(r)
		}
	}()
	x.o.At = func(s string) {
		if s == step {
			panic(errKilled)
		}
	}
	_, _ = x.Run(context.Background(), job)
}

// An export that is killed before any step is, asked for again, as if it had not been: it has one kind
// of last status, and the directory is the old one or the new one meanwhile.
func TestKilled(t *testing.T) {
	for _, step := range []string{"record", "install", "tell", "told"} {
		t.Run(step, func(t *testing.T) {
			dir := t.TempDir()
			path := archive(t, dir+"/a", photo("1", "x", 1))
			_, api := serve(t, Warc{ID: "a", Path: path})
			told, job := &said{}, Job{Body: ask(dir+"/out", ofCollection)}
			killed(exporter(api, told, dir+"/records"), step, job)
			if _, err := os.Stat(dir + "/out"); (err == nil) != (step == "tell" || step == "told") {
				t.Errorf("the directory: %v", err)
			}
			if step != "record" { // what is decided does not change any more
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if outcome, err := exporter(api, told, dir+"/records").Run(t.Context(), job); err != nil || outcome != Succeeded {
					t.Fatal(outcome, err)
				}
			}
			if contents(t, dir+"/out")["e_1_001.txt"] != "1\n" {
				t.Errorf("exported is %q", contents(t, dir+"/out"))
			}
			last := uint64(0)
			for i, s := range told.statuses {
				if s.Status == sfm.Running {
					continue
				}
				if s.Status != sfm.Success || last != 0 && told.numbers[i] != last {
					t.Errorf("said %s, by the numbers %d", told.words(), told.numbers)
				}
				last = told.numbers[i]
			}
			if _, err := os.Stat(stagePath("e 1", dir+"/out")); err == nil {
				t.Error("the stage is left")
			}
		})
	}
}

// A request of the same id that asks for something else is another one.
func TestAnotherRequest(t *testing.T) {
	dir := t.TempDir()
	_, api := serve(t, Warc{ID: "a", Path: archive(t, dir+"/a", photo("1", "x", 1))})
	told := &said{}
	for _, rest := range []string{ofCollection, `"format":"json_full","collection":{"id":"c"}`} {
		if outcome, err := exporter(api, told, dir+"/records").Run(t.Context(), Job{Body: ask(dir+"/out", rest)}); err != nil || outcome != Succeeded {
			t.Fatal(outcome, err)
		}
	}
	if got := contents(t, dir+"/out"); len(got) != 1 || got["e_1_001.json"] == "" {
		t.Errorf("exported is %q", got)
	}
}

// What cannot be said is said later; what is no request cannot be answered; what is interrupted is made
// anew.
func TestUnfinished(t *testing.T) {
	dir := t.TempDir()
	s, api := serve(t, Warc{ID: "a", Path: archive(t, dir+"/a", photo("1", "x", 1))})
	told, job := &said{fail: errors.New("no room")}, Job{Body: ask(dir+"/out", ofCollection)}
	if outcome, err := exporter(api, told, dir+"/records").Run(t.Context(), job); err == nil || outcome != Unfinished {
		t.Error(outcome, err)
	}
	if outcome, err := exporter(api, told, "").Run(t.Context(), Job{Body: []byte(`{"id":`)}); !errors.Is(err, ErrMalformed) || outcome != Unfinished {
		t.Error(outcome, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	told.fail, told.heard = nil, func(sfm.ExportStatus) { cancel() }
	if outcome, err := exporter(api, told, dir+"/records").Run(ctx, job); err != nil || outcome != Stopped || told.words() != "running" {
		t.Error(outcome, err, told.words())
	}
	s.Close()
	if outcome, err := exporter(api, told, dir+"/records").Run(t.Context(), job); err != nil || outcome != Failed || told.words() != "running, running, completed failure unknown_error" {
		t.Error(outcome, err, told.words())
	}
}

// A directory outside of what is served, or that climbs, is refused before anything is asked.
func TestExportOutside(t *testing.T) {
	dir := t.TempDir()
	_, api := serve(t, Warc{ID: "1", Path: archive(t, dir+"/a", photo("1", "x", 1))})
	for _, path := range []string{"/etc/out", "/sfm-data/../../etc/out", "out"} {
		told := &said{}
		x := exporter(api, told, "")
		x.o.Prefixes = sfm.Prefixes{{Message: "/sfm-data", Local: dir}}
		outcome, err := x.Run(t.Context(), Job{Body: ask(path, ofCollection)})
		if err != nil || outcome != Failed || !strings.HasSuffix(told.words(), "completed failure bad_request") {
			t.Error(path, outcome, err, told.words())
		}
	}
	told := &said{}
	x := exporter(api, told, "")
	x.o.Prefixes = sfm.Prefixes{{Message: "/sfm-data", Local: dir}}
	if outcome, err := x.Run(t.Context(), Job{Body: ask("/sfm-data/out", ofCollection)}); err != nil || outcome != Succeeded || contents(t, dir+"/out")["e_1_001.txt"] != "1\n" {
		t.Error(outcome, err, told.words())
	}
}
