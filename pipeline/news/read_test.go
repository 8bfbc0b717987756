package news

import (
	"bytes"
	"crypto/sha1"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"srpump/pipeline/warc"
)

// three are fragments of stories whose pages are called a, b and c.
func three(t testing.TB) [3][]byte {
	t.Helper()
	var out [3][]byte
	for i := range out {
		name := string(rune('a' + i))
		s := &Story{RSS: RSSEntry{Link: new("http://example.com/" + name)}, HTTP: HTTPMetadata{ResponseCode: new(int64(200))}, Page: []byte(strings.Repeat("page "+name+"\n", 20))}
		out[i] = fragment(t, s)
	}
	return out
}

// members cuts a fragment into response and metadata.
func members(t testing.TB, fragment []byte) (page, meta []byte) {
	t.Helper()
	r := warc.NewReader(bytes.NewReader(fragment), warc.ReadOptions{})
	for {
		rec, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if rec.Type() == warc.Metadata {
			return fragment[:rec.Offset], fragment[rec.Offset:]
		}
	}
}

// record is a plain one; length is what Content-Length says.
func record(fields, block string, length any) string {
	return "WARC/1.0\r\nWARC-Date: 2023-11-14T22:13:20Z\r\n" + fields + fmt.Sprintf("Content-Length: %v\r\n\r\n", length) + block + "\r\n\r\n"
}

func response(id, name, status string) string {
	block := "HTTP/1.0 " + status + "\r\nContent-Type: text/html\r\n\r\n" + name
	return record("WARC-Type: response\r\nWARC-Record-ID: <urn:"+id+">\r\nWARC-Target-URI: http://example.com/"+name+"\r\nContent-Type: application/http; msgtype=response\r\n", block, len(block))
}

func digest(block string) string {
	sum := sha1.Sum([]byte(block))
	return base32.StdEncoding.EncodeToString(sum[:])
}

func metadata(refers, name, json string) string {
	if refers != "" {
		refers = "WARC-Refers-To: <urn:" + refers + ">\r\n"
	}
	return record("Content-Type: "+ContentType+"\r\nWARC-Type: metadata\r\nWARC-Record-ID: <urn:m"+name+">\r\n"+refers+"WARC-Target-URI: http://example.com/"+name+"\r\n", json, len(json))
}

// pagesOf are the pages, by their names, of all stories in a file, "-" for one without, and how many
// were lost.
func pagesOf(t testing.TB, file []byte) (names string, lost int, faults []*Fault) {
	t.Helper()
	r := NewReader(bytes.NewReader(file), func(f *Fault) {
		if faults = append(faults, f); f.Lost {
			lost++
		}
	})
	for {
		s, err := r.Next()
		if err == io.EOF {
			return names, lost, faults
		}
		if err != nil {
			t.Fatal(err)
		}
		name := "-"
		if s.Page != nil {
			name = string(bytes.TrimPrefix(s.Page, []byte("page "))[:1])
		}
		if url := s.URL(); s.Page != nil && url != "" && !strings.HasSuffix(url, name) {
			t.Errorf("the story of %q has the page %s", url, name)
		}
		names += name
	}
}

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

// flip is a copy with one bit wrong in its middle.
func flip(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)/2] ^= 4
	return b
}

// Damage costs the story it is in, once, and no story gets the page of another.
func TestDamage(t *testing.T) {
	f := three(t)
	pageB, metaB := members(t, f[1])
	pageC, metaC := members(t, f[2])
	for name, c := range map[string]struct {
		file  []byte
		want  string
		lost  int
		first int64 // offset of the first fault
	}{
		"whole":               {join(f[0], f[1], f[2]), "abc", 0, -1},
		"empty":               {nil, "", 0, -1},
		"page flipped":        {join(f[0], flip(pageB), metaB, f[2]), "ac", 1, int64(len(f[0]))},
		"metadata flipped":    {join(f[0], pageB, flip(metaB), f[2]), "ac", 1, int64(len(f[0]) + len(pageB))},
		"neighbours":          {join(f[0], pageB, flip(metaB), flip(pageC), metaC), "a", 2, int64(len(f[0]) + len(pageB))},
		"cut in a page":       {join(f[0], pageB[:len(pageB)/2]), "a", 1, int64(len(f[0]))},
		"cut in metadata":     {join(f[0], pageB, metaB[:len(metaB)/2]), "a", 1, int64(len(f[0]) + len(pageB))},
		"checksum missing":    {f[0][:len(f[0])-4], "", 1, -2},
		"garbage behind":      {join(f[0], []byte("garbage")), "a", 1, int64(len(f[0]))},
		"NULs behind":         {join(f[0], make([]byte, 512)), "a", 0, -2},
		"metadata first":      {join(metaB, pageB, f[2]), "bc", 0, -1},
		"apart":               {join(pageB, pageC, f[0], metaC, metaB), "acb", 0, -1},
		"page alone":          {join(pageB, f[0]), "a", 1, 0},
		"metadata alone":      {join(metaB, f[0]), "a", 1, 0},
		"twice":               {join(f[0], f[0]), "aa", 0, -1},
		"pickle":              {append([]byte{0x80, 4, 0x95}, f[0]...), "a", 1, 0},
		"page in a page":      {join(f[0], fragment(t, &Story{RSS: RSSEntry{Link: new("http://x/b")}, Page: append([]byte("b\r\nWARC/1.0\r\n"), f[2]...)})), "ab", 0, -1},
		"metadata twice":      {join(pageB, metaB, metaB), "b", 1, int64(len(pageB) + len(metaB))},
		"two pages, one text": {join(pageC, f[1]), "b", 1, 0},
	} {
		got, lost, faults := pagesOf(t, c.file)
		if got != c.want || lost != c.lost {
			t.Errorf("%s: read %q and lost %d, not %q and %d: %v", name, got, lost, c.want, c.lost, faults)
		}
		if c.first >= 0 && (len(faults) == 0 || faults[0].Offset != c.first) || c.first == -1 && len(faults) > 0 {
			t.Errorf("%s: faults %v, not at %d", name, faults, c.first)
		}
	}
}

// What other writers, and broken ones, make of the format.
func TestForeign(t *testing.T) {
	json := `{"rss_entry": {"link": null}}`
	a := response("a", "a", "200 OK")
	sealed := strings.Replace(a, "Content-Type: app", "WARC-Block-Digest: sha1:"+digest(a[len(a)-49:len(a)-4])+"\r\nContent-Type: app", 1)
	info := record("WARC-Type: warcinfo\r\nWARC-Record-ID: <urn:i>\r\n", "software: x\r\n", 13)
	request := record("WARC-Type: request\r\nWARC-Record-ID: <urn:r>\r\nWARC-Target-URI: http://example.com/a\r\n", "GET", 3)
	for name, c := range map[string]struct {
		file string
		want string
		lost int
	}{
		"plain":                  {info + a + metadata("a", "a", json), "a", 0},
		"requests between":       {a + request + metadata("a", "a", json) + request, "a", 0},
		"no reference":           {a + metadata("", "a", json), "a", 0},
		"no reference, request":  {a + request + metadata("", "a", json), "a", 0},
		"no reference, other":    {a + metadata("", "b", json), "-", 1},
		"not fetched":            {metadata("", "a", json), "-", 0},
		"bad JSON":               {a + metadata("a", "a", "{") + response("b", "b", "200 OK") + metadata("b", "b", json), "b", 1},
		"bad JSON, no reference": {a + metadata("", "a", "{"), "", 1},
		"unknown field":          {a + metadata("a", "a", `{"rss_entry": {"new": 1}}`), "a", 0},
		"no sections":            {a + metadata("a", "a", `{}`), "a", 0},
		"no status":              {response("a", "a", "None HUH?") + metadata("a", "a", json), "a", 0},
		"two infos":              {info + info + a + metadata("a", "a", json) + info, "a", 0},
		"HTTP/2":                 {strings.Replace(a, "HTTP/1.0 200 OK", "HTTP/2 200     ", 1) + metadata("a", "a", json), "a", 0},
		"no target":              {strings.Replace(a, "WARC-Target-URI: http://example.com/a\r\n", "", 1) + metadata("a", "a", json), "a", 0},
		"sealed":                 {sealed + metadata("a", "a", json), "a", 0},
		"too short":              {strings.Replace(sealed, "Content-Length: 45", "Content-Length: 41", 1) + metadata("a", "a", json), "", 2}, // the rest of the block is no record,
		"too long":               {strings.Replace(sealed, "Content-Length: 45", "Content-Length: 47", 1) + metadata("a", "a", json), "", 1},
		"no number":              {strings.Replace(a, "Content-Length: 45", "Content-Length: x", 1) + metadata("a", "a", json), "", 1},
		"other version":          {strings.ReplaceAll(a+metadata("a", "a", json), "WARC/1.0", "WARC/1.7"), "a", 0},
		"too large":              {strings.Replace(a, "Content-Length: 45", "Content-Length: 99999999", 1) + metadata("a", "a", json), "", 1},
		"no HTTP":                {record("WARC-Type: response\r\nWARC-Record-ID: <urn:a>\r\n", "a page", 6) + metadata("a", "a", json), "a", 0},
		"other metadata":         {strings.Replace(metadata("a", "a", json), ContentType, "application/warc-fields", 1), "", 0},
	} {
		if !strings.Contains(a, "Content-Length: 45\r\n") {
			t.Fatal("the response has another length")
		}
		got, lost, faults := pagesOf(t, []byte(c.file))
		if got != c.want || lost != c.lost {
			t.Errorf("%s: read %q and lost %d, not %q and %d: %v", name, got, lost, c.want, c.lost, faults)
		}
	}
}

// A whole file in one gzip member, which the reference refuses, is read.
func TestOneMember(t *testing.T) {
	f := three(t)
	var file bytes.Buffer
	gz(t, &file, plain(t, join(f[0], f[1], f[2])))
	if got, lost, faults := pagesOf(t, file.Bytes()); got != "abc" || lost > 0 {
		t.Errorf("read %q, %v", got, faults)
	}
}

// An inflate bomb costs its story, and no memory.
func TestBomb(t *testing.T) {
	f := three(t)
	head := strings.TrimSuffix(record("WARC-Type: response\r\nWARC-Record-ID: <urn:x>\r\n", "", 1<<30), "\r\n\r\n")
	var file bytes.Buffer
	gz(t, &file, head+strings.Repeat("\x00", 64<<20))
	if got, lost, faults := pagesOf(t, join(f[0], file.Bytes(), f[1])); got != "ab" || lost != 1 {
		t.Errorf("read %q, %v", got, faults)
	}
}

// A page that nothing comes for is told of before more than 64 wait.
func TestWaiting(t *testing.T) {
	var file strings.Builder
	for i := range 100 {
		file.WriteString(response(fmt.Sprint(i), "a", "200 OK"))
	}
	file.WriteString(metadata("99", "a", "{}") + metadata("0", "a", "{}"))
	got, lost, _ := pagesOf(t, []byte(file.String()))
	if got != "a" || lost != 100 {
		t.Errorf("read %q, lost %d", got, lost)
	}
}

// The body of a message is one whole story, or it is refused.
func TestParse(t *testing.T) {
	f := three(t)
	if s, err := Parse(f[0]); err != nil || s.URL() != "http://example.com/a" {
		t.Errorf("%+v, %v", s, err)
	}
	for name, c := range map[string]struct {
		body []byte
		want error
	}{
		"pickle": {[]byte{0x80, 4}, ErrPickle}, "large": {make([]byte, MaxStory+1), ErrTooLarge}, "empty": {nil, nil},
		"two": {join(f[0], f[1]), nil}, "damaged": {flip(f[0]), nil}, "half": {f[0][:20], nil}, "garbage": {join(f[0], []byte("x")), nil},
	} {
		if s, err := Parse(c.body); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// The archive that the reference wrote has a page, and its metadata was cut off.
func TestReferenceArchive(t *testing.T) {
	file, err := os.ReadFile("../warc/testdata/golden.warc.gz")
	if err != nil {
		t.Fatal(err)
	}
	if got, lost, faults := pagesOf(t, join(file, three(t)[0])); lost != 1 || got != "a" || faults[0].Offset != 313 {
		t.Errorf("read %q, %v", got, faults)
	}
}

// However a file is damaged, stories keep their own pages and nothing panics.
func FuzzReader(f *testing.F) {
	all := three(f)
	f.Add(join(all[0], all[1], all[2]))
	f.Add([]byte(response("a", "a", "200 OK") + metadata("a", "a", "{}")))
	f.Fuzz(func(t *testing.T, file []byte) {
		r := NewReader(bytes.NewReader(file), nil)
		for {
			s, err := r.Next()
			if err != nil {
				break
			}
			_ = s.JSON()
		}
		_, _ = Parse(file)
	})
}
