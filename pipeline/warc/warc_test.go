package warc

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// at is a moment with fractions.
var at = time.Date(2023, 11, 14, 22, 13, 20, 250_000_000, time.UTC)

const page = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s"

// exchange is a response with a body of some bytes.
func exchange(version, uri, body string) *Record {
	return New(version, Response, uri, at).With(fmt.Sprintf(page, len(body), body))
}

// written is a file of records, and where they stand.
func written(t testing.TB, o WriteOptions, records ...*Record) ([]byte, []Place) {
	t.Helper()
	var file bytes.Buffer
	w, err := NewWriter(&file, o)
	if err != nil {
		t.Fatal(err)
	}
	var pending []*Pending
	for _, r := range records {
		p, err := w.Add(r)
		if err != nil {
			t.Fatal(err)
		}
		pending = append(pending, p)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var places []Place
	for _, p := range pending {
		place, err := p.Wait()
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, place)
	}
	return file.Bytes(), places
}

// A seen record is what a reader told of it.
type seen struct {
	uri, block string
	offset     int64
	end        int64
	err        error
}

// readAll reads a file to its end.
func readAll(t testing.TB, in io.Reader, o ReadOptions) (all []seen, faults []*Fault) {
	t.Helper()
	o.Report = func(f *Fault) { faults = append(faults, f) }
	r := NewReader(in, o)
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return all, faults
		}
		if err != nil {
			t.Fatal(err)
		}
		block, err := io.ReadAll(rec.Block)
		all = append(all, seen{rec.URI(), string(block), rec.Offset, rec.End(), err})
	}
}

// pipe hides that a reader can seek.
type pipe struct{ io.Reader }

// few are some records of every type.
func few(version string) []*Record {
	first := exchange(version, "http://a.example/1", "<html>one</html>")
	first.Fields.Add(FieldPayloadDigest, "sha1:"+strings.TrimPrefix(SHA1.seal(sum("<html>one</html>"), false), "sha1:"))
	return []*Record{
		NewInfo(version, "a.warc.gz", at, Fields{{"software", "srpump"}, {"format", version}}),
		first,
		New(version, Request, "http://a.example/1", at).With("GET /1 HTTP/1.1\r\nHost: a.example\r\n\r\n"),
		New(version, Metadata, "http://a.example/1", at).With(`{"a":1}`),
		NewRevisit(version, "http://a.example/1", at, first).With("HTTP/1.1 200 OK\r\n\r\n"),
		New(version, Resource, "http://a.example/r", at).With("resource"),
		New(version, Conversion, "http://a.example/c", at).With(""),
	}
}

func sum(text string) []byte {
	h := SHA1.newHash()
	io.WriteString(h, text)
	return h.Sum(nil)
}

// What is written is read, in both versions and both forms, from files and from pipes, in
// order, at the places told, and with nothing to complain about.
func TestRoundTrip(t *testing.T) {
	for _, version := range []string{V10, V11} {
		for _, plain := range []bool{false, true} {
			file, places := written(t, WriteOptions{Version: version, Plain: plain}, few(version)...)
			for _, in := range []io.Reader{bytes.NewReader(file), pipe{bytes.NewReader(file)}} {
				all, faults := readAll(t, in, ReadOptions{})
				if len(faults) > 0 {
					t.Fatal(faults)
				}
				if len(all) != len(places) {
					t.Fatalf("%d records of %d", len(all), len(places))
				}
				for i, r := range few(version) {
					want, _ := io.ReadAll(r.Block)
					got := all[i]
					if got.uri != r.URI() || got.block != string(want) || got.err != nil || (Place{got.offset, got.end - got.offset}) != places[i] {
						t.Errorf("%s plain %v: %d is %+v, not %q at %v", version, plain, i, got, want, places[i])
					}
				}
			}
		}
	}
}
