package retry

import (
	"bytes"
	"os"
	"testing"
	"time"

	"srpump/partition"
	"srpump/post"
)

// Whatever a save file holds, reading it ends in an announcement or an error, and writing that one again
// keeps it.
func FuzzDecodeSaved(f *testing.F) {
	f.Add([]byte(`["20231114221320.5","http://h/","/d/a b",{"parts":"1,1,1,0,0","sum":"d,c4ca4238a0b923820dcc509a6f75849b"}]`))
	f.Add([]byte(`["v02.post.d",{"sum":"R"},"20231114221321.5 http://h/ /d/c%20d"]`))
	f.Add([]byte(`["v02.report.d",{"sum":"R","_retry_exchange":"x"},"20231114221321.5 http://h/ /d/c%20d 201 h u 0.1"]`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, exchange, err := DecodeSaved(line)
		if err != nil {
			return
		}
		a, err := post.DecodeV02(m.Topic, m.Headers, m.Body)
		if err != nil {
			t.Fatalf("%q: read as %q: %v", line, m.Body, err)
		}
		a.Exchange = exchange
		again, err := EncodeSaved(a)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		back, x, err := DecodeSaved(again)
		if err != nil || !bytes.Equal(back.Body, m.Body) || back.Topic != a.Topic || x != exchange {
			t.Fatalf("%q: written as %q, read as %q %q: %v", line, again, back.Topic, back.Body, err)
		}
	})
}

// A report has no room in four elements and is written as three.
func TestSavedReport(t *testing.T) {
	a, err := post.DecodeV02("v02.report.d", map[string]any{"message": "Downloaded"}, []byte("20231114221321.5 http://h/ d/a 201 host user 0.1"))
	if err != nil {
		t.Fatal(err)
	}
	line, err := EncodeSaved(a)
	if err != nil || !bytes.HasPrefix(line, []byte(`["v02.report.d",{`)) {
		t.Fatalf("%q %v", line, err)
	}
	m, _, err := DecodeSaved(line)
	if b, derr := post.DecodeV02(m.Topic, m.Headers, m.Body); err != nil || derr != nil || b.Report == nil || *b.Report != *a.Report {
		t.Errorf("%+v %v %v", b, err, derr)
	}
}

// A batch is in the file as a whole, and what was there before stays.
func TestSaveFile(t *testing.T) {
	path := t.TempDir() + "/deep/x.save"
	a := &post.Announcement{Topic: "v02.post.d.a", Time: post.At(time.Unix(1700000000, 0)), Base: "http://h/", Path: "d/a", Block: partition.WholeFile(1)}
	for range 2 {
		s, err := OpenSave(path)
		if err != nil {
			t.Fatal(err)
		}
		line, err := EncodeSaved(a)
		if err != nil || s.Append([][]byte{line, line}) != nil || s.Append(nil) != nil || s.Close() != nil || s.Append([][]byte{line}) == nil {
			t.Fatalf("%q %v", line, err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(text, []byte(`["20231114221320.00","http://h/","d/a",{"parts":"1,1,1,0,0"}]`+"\n")); got != 4 {
		t.Errorf("%d lines", got)
	}
}
