package mirror

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"srpump/pipeline/sfm"
	"srpump/pipeline/sfm/outbox"
)

// A bench is a mirror with an outbox, and a WARC it has.
type bench struct {
	t       *testing.T
	m       *Mirror
	box     string
	path    string
	headers map[string]string
}

func newBench(t *testing.T, places ...Place) *bench {
	b := &bench{t: t, box: t.TempDir(), path: filepath.Join(t.TempDir(), "a.warc.gz")}
	box, err := outbox.Open(b.box, outbox.Message(sfm.Exchange), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	b.m = &Mirror{Out: box, Places: places}
	content := []byte("the bytes of a WARC")
	if err := os.WriteFile(b.path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	sum := sha1.Sum(content)
	date, err := sfm.ParseTime("2026-11-21T10:00:00.5Z")
	if err != nil {
		t.Fatal(err)
	}
	b.headers = (&sfm.Created{WarcID: "w1", SHA1: hex.EncodeToString(sum[:]), Date: date, CollectionSet: "s", Collection: "c", HarvestID: "h", HarvestType: "feed"}).Headers()
	return b
}

// ask has the mirror answer an event about the WARC, and returns what it answers.
func (b *bench) ask(event string, headers map[string]string) string {
	b.t.Helper()
	line, err := json.Marshal(map[string]any{"id": 7, "event": event, "pubtime": "20261121100000.25", "file": b.path, "headers": headers})
	if err != nil {
		b.t.Fatal(err)
	}
	return b.serve(string(line) + "\n")
}

func (b *bench) serve(lines string) string {
	b.t.Helper()
	var out bytes.Buffer
	if err := b.m.Serve(strings.NewReader(lines), &out, func(error) {}); err != nil {
		b.t.Fatal(err)
	}
	return out.String()
}

// left are the messages in the outbox, by name.
func (b *bench) left() map[string]string {
	b.t.Helper()
	entries, err := os.ReadDir(b.box)
	if err != nil {
		b.t.Fatal(err)
	}
	all := make(map[string]string)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".meta") {
			body, err := os.ReadFile(filepath.Join(b.box, e.Name()))
			if err != nil {
				b.t.Fatal(err)
			}
			all[e.Name()] = string(body)
		}
	}
	return all
}

// sfm_mirror(1): the message has the path of the copy, and all else as the harvester said it; asked again it is
// the same message.
func TestTold(t *testing.T) {
	b := newBench(t)
	b.m.Places = []Place{{"/sfm-data", filepath.Dir(b.path)}, {"/wrong", filepath.Dir(filepath.Dir(b.path))}}
	for range 2 {
		if got := b.ask(inPlace, b.headers); got != `{"id":7}`+"\n" {
			t.Errorf("answered %s", got)
		}
	}
	all := b.left()
	if len(all) != 1 {
		t.Fatalf("left %v", all)
	}
	for name, body := range all {
		c, err := sfm.ParseCreated([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(name, ",warc_created,w1") || c.Path != "/sfm-data/a.warc.gz" || c.Bytes != 19 || !maps.Equal(c.Headers(), b.headers) {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// Nothing is told of what is not the WARC that was announced, or only on its way, and what is none passes.
func TestNotTold(t *testing.T) {
	with := func(name, value string) map[string]string {
		h := newBench(t).headers
		h[name] = value
		return h
	}
	for name, c := range map[string]struct {
		event   string
		headers map[string]string
		answer  string
	}{
		"on its way":     {fetched, newBench(t).headers, `{"id":7}`},
		"no WARC of SFM": {inPlace, map[string]string{"sum": "d,1"}, `{"id":7}`},
		"another":        {inPlace, with(sfm.HeaderSHA1, strings.Repeat("0", 40)), "is not the WARC that was announced"},
		"another before": {fetched, with(sfm.HeaderSHA1, strings.Repeat("0", 40)), "is not the WARC that was announced"},
		"no checksum":    {inPlace, with(sfm.HeaderSHA1, ""), "sfm_sha1 is missing"},
		"no SHA-1":       {inPlace, with(sfm.HeaderSHA1, "zz"), "is no SHA-1"},
		"no date":        {inPlace, with(sfm.HeaderCreated, "yesterday"), "sfm_created"},
		"another event":  {"on_post", newBench(t).headers, `name it at on_file`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if got := b.ask(c.event, c.headers); !strings.Contains(got, c.answer) || !strings.Contains(got, `"id":7`) {
				t.Errorf("answered %s", got)
			}
			if left := b.left(); len(left) > 0 {
				t.Errorf("told %v", left)
			}
		})
	}
}

// A file that is gone, and an event that names none, are asked about again.
func TestNoFile(t *testing.T) {
	b := newBench(t)
	if err := os.Remove(b.path); err != nil {
		t.Fatal(err)
	}
	if got := b.ask(inPlace, b.headers); !strings.Contains(got, "no such file") {
		t.Errorf("answered %s", got)
	}
	for _, line := range []string{`{"id":1,"event":"on_file"}`, `{"id":1,"event":"on_file","file":"a"}`, `{"id":1,"event":"on_file","file":"/a","file_base64":"!"}`} {
		if got := b.serve(line); !strings.Contains(got, `"id":1,"error"`) {
			t.Errorf("%s: answered %s", line, got)
		}
	}
}

// All are answered, in whatever order, and a name of any bytes is found.
func TestMany(t *testing.T) {
	b := newBench(t)
	odd := filepath.Join(filepath.Dir(b.path), "caf\xe9.warc.gz")
	if err := os.Rename(b.path, odd); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for i := range 100 {
		line, _ := json.Marshal(map[string]any{"id": i, "event": inPlace, "pubtime": fmt.Sprintf("20261121100000.%02d", i), "file": odd, "file_base64": []byte(odd), "headers": b.headers})
		fmt.Fprintf(&lines, "%s\n", line)
	}
	got := b.serve(lines.String())
	for i := range 100 {
		if !strings.Contains(got, fmt.Sprintf("{\"id\":%d}\n", i)) {
			t.Errorf("%d is not answered", i)
		}
	}
	if n := len(b.left()); n != 100 {
		t.Errorf("%d messages", n)
	}
}

// What is no event ends the program: a pump starts it again.
func TestNoEvent(t *testing.T) {
	b := newBench(t)
	for _, in := range []string{"x\n", strings.Repeat("x", longestLine+2)} {
		if err := b.m.Serve(strings.NewReader(in), &bytes.Buffer{}, func(error) {}); err == nil {
			t.Error("taken")
		}
	}
}
