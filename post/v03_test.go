package post

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"srpump/partition"
)

// v03 is the announcement of a JSON body.
func v03(t *testing.T, body string) *Announcement {
	t.Helper()
	a, err := Decode("v03.x", nil, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return a
}

const head03 = `"pubTime":"20200102T030405.25","baseUrl":"http://h/","relPath":"d/a b.txt"`

// What hosts of v03 send, in the forms of its history, and what it is in the words of v02.
func TestV03Read(t *testing.T) {
	for _, c := range []struct{ members, sum, parts, header, value string }{
		{`"identity":{"method":"md5","value":"b1kCrCNwJL3QwXbLkwY9xA=="},"size":12`, "d,6f5902ac237024bdd0c176cb93063dc4", "1,12,1,0,0", "", ""},
		{`"integrity":{"method":"md5","value":"6F5902AC237024BDD0C176CB93063DC4"},"size":"12"`, "d,6f5902ac237024bdd0c176cb93063dc4", "1,12,1,0,0", "", ""},
		{`"identity":{"method":"md5","value":"b1kCrCNwJL3QwXbLkwY9xA"},"size":1.2e1`, "d,6f5902ac237024bdd0c176cb93063dc4", "1,12,1,0,0", "", ""},
		{`"identity":{"method":"md5","value":"short"}`, "", "", "", ""},
		{`"identity":{"method":"cod","value":"sha512"}`, "z,s", "", "", ""},
		{`"identity":{"method":"cod"}`, "z,d", "", "", ""},
		{`"identity":{"method":"random","value":"0815"}`, "0,0815", "", "", ""},
		{`"identity":{"method":"arbitrary","value":"65537"}`, "a,65537", "", "", ""},
		{`"identity":{"method":"blake3","value":"xyz"}`, "blake3,xyz", "", "", ""},
		{`"identity":{"method":"bad method","value":"x"}`, "", "", "", ""},
		{`"identity":null,"size":null,"fileOp":null,"mode":null,"blocks":null,"content":null,"report":null`, "", "", "mode", ""},
		{`"identity":7,"size":{},"fileOp":[1],"blocks":"x","content":3,"report":"x","mtime":5,"source":["a"]`, "", "", "mtime", ""},
		{`"size":-3`, "", "", "", ""},
		{`"size":50,"blocks":{"method":"inplace","size":100,"count":"3","remainder":50,"number":2}`, "", "i,100,3,50,2", "", ""},
		{`"size":50,"blocks":{"method":"partitioned","size":100,"count":3,"remainder":50,"number":9}`, "", "1,50,1,0,0", "", ""},
		{`"fileOp":{"link":"../x"}`, OfLink("../x").String(), "", "link", "../x"},
		{`"link":"../x","identity":{"method":"link","value":"zzz"}`, OfLink("../x").String(), "", "link", "../x"},
		{`"fileOp":{"remove":""}`, OfRemoval("a b.txt").String(), "", "", ""},
		{`"identity":{"method":"remove","value":"zzz"}`, OfRemoval("a b.txt").String(), "", "", ""},
		{`"fileOp":{"rename":"old"},"identity":{"method":"md5","value":"b1kCrCNwJL3QwXbLkwY9xA=="}`, "d,6f5902ac237024bdd0c176cb93063dc4", "", "oldname", "old"},
		{`"fileOp":{"hlink":"other"}`, "", "", "hlink", "other"},
		{`"sum":"d,abc","parts":"1,3,1,0,0"`, "d,abc", "1,3,1,0,0", "", ""},
		{`"mtime":"20200102T030405","unknown":"kept","count":5,"yes":true`, "", "", "mtime", "20200102030405.00"},
		{`"unknown":"first","unknown":"kept"`, "", "", "unknown", "kept"},
		{`"count":5`, "", "", "count", "5"},
	} {
		a := v03(t, "{"+head03+","+c.members+"}")
		parts := ""
		if a.HasBlock() {
			parts = a.Block.String()
		}
		if a.Sum.String() != c.sum || parts != c.parts || c.header != "" && a.Header(c.header) != c.value || a.Path != "d/a b.txt" {
			t.Errorf("%s: sum %s parts %s %s %q", c.members, a.Sum, parts, c.header, a.Header(c.header))
		}
	}
	if a, err := Decode("", nil, []byte("{"+head03+"}")); err != nil || a.Topic != "v03.post.d.a%20b.txt" {
		t.Errorf("a body alone: %+v %v", a, err)
	}
	a := v03(t, `["20200102T030405.25","http://h/","d/a b.txt",{"source":"s","sum":"d,abc","size":"3"}]`)
	if a.Path != "d/a b.txt" || a.Header("source") != "s" || a.Sum.String() != "d,abc" || a.Size() != 3 {
		t.Errorf("the early form: %+v", a)
	}
}

func TestV03Malformed(t *testing.T) {
	for _, body := range []string{
		"[", "[]", "[1,2,3]", `["x","y"]`, "{" + head03, "{" + head03 + "}{}", `{"relPath":"a","baseUrl":"http://h/"}`,
		`{"pubTime":null,"baseUrl":"http://h/","relPath":"a"}`, "{" + head03 + `,"report":{"code":7}}`, "{" + head03 + ",\"x\":\"\xff\"}",
		"{" + head03 + `,"x":` + strings.Repeat("[", 1<<20), "{" + head03 + `,"x":"` + strings.Repeat("y", maxBody) + `"}`,
	} {
		if a, err := Decode("v03", nil, []byte(body)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%.80q: %+v %v", body, a, err)
		}
	}
}

func TestV03Content(t *testing.T) {
	for members, want := range map[string]*Content{
		`{"encoding":"utf-8","value":"h\u00e9\n"}`:      {Data: []byte("hé\n")},
		`{"encoding":"utf-8","value":""}`:               {Data: []byte{}},
		`{"encoding":"base64","value":"//4="}`:          {Data: []byte{0xff, 0xfe}, Binary: true},
		`{"encoding":"base64","value":"%%%"}`:           nil,
		`{"encoding":"utf-16","value":"x"}`:             nil,
		`{"encoding":"utf-8","value":{"encoding":"x"}}`: nil,
		`{"value":"x"}`: nil,
	} {
		a := v03(t, "{"+head03+`,"content":`+members+"}")
		if (a.Content == nil) != (want == nil) || want != nil && (!bytes.Equal(a.Content.Data, want.Data) || a.Content.Binary != want.Binary) {
			t.Errorf("%s: %+v", members, a.Content)
		}
		m, err := EncodeV03(a)
		if err != nil || want != nil && !bytes.Equal(v03(t, string(m.Body)).Content.Data, want.Data) {
			t.Errorf("%s: sent on as %s", members, m.Body)
		}
		if m, err := EncodeV02(a); err != nil || m.Headers["content"] != nil {
			t.Errorf("v02 with content: %v %v", m.Headers, err)
		}
	}
}

// What is written is what sr_post(7) shows.
func TestV03Write(t *testing.T) {
	sum, _ := ParseSum("d,6f5902ac237024bdd0c176cb93063dc4")
	a := &Announcement{Topic: "v03.post.sub", Time: At(time.Date(2020, 1, 2, 3, 4, 5, 25e7, time.UTC)), Base: "http://h/", Path: "sub/foo.txt",
		Sum: sum, Block: partition.WholeFile(12), Content: &Content{Data: []byte("hello world\n")},
		Headers: map[string]any{"mode": "644", "mtime": "20200102030405.25", "source": "alice", "n": int64(7), "table": map[string]any{}, "CC": "x", "j": JSON(`{"k":[1]}`)}}
	m, err := Encode(a)
	want := `{"pubTime":"20200102T030405.25","baseUrl":"http://h/","relPath":"sub/foo.txt","identity":{"method":"md5","value":"b1kCrCNwJL3QwXbLkwY9xA=="},"size":12,` +
		`"content":{"encoding":"utf-8","value":"hello world\n"},"j":{"k":[1]},"mode":"644","mtime":"20200102T030405.25","n":"7","source":"alice"}`
	if err != nil || string(m.Body) != want || m.Headers != nil || m.ContentType != "application/json" || len(m.Dropped) != 1 {
		t.Errorf("%s %+v %v", m.Body, m, err)
	}
	if !json.Valid(m.Body) {
		t.Error("not JSON")
	}
	r, err := Encode(a.Reported(Report{Code: 201, Host: "h", User: "u", Elapsed: 1500 * time.Millisecond}, "Downloaded"))
	if want := `"report":{"code":201,"host":"h","user":"u","elapsedTime":1.500000,"message":"Downloaded"}`; err != nil || r.Topic != "v03.report.sub" || !strings.Contains(string(r.Body), want) || strings.Contains(string(r.Body), "content") {
		t.Errorf("report: %s %s %v", r.Topic, r.Body, err)
	}
	if back := v03(t, string(r.Body)); back.Report == nil || *back.Report != (Report{201, "h", "u", 1500 * time.Millisecond}) || back.Header(HeaderMessage) != "Downloaded" {
		t.Errorf("report read as %+v", back)
	}
	if got := ReportTopic("v03.sub.x"); got != "v03.report.sub.x" {
		t.Errorf("topic of a report: %s", got)
	}
}

// A srcpath that is the complete URL is a retrievePath in v03, and the other way round.
func TestV03Retrieval(t *testing.T) {
	for _, c := range [][4]string{ // srcpath, relpath; baseUrl, retrievePath
		{"http://h/api/get?id=3", "in/", "http://h/", "api/get?id=3"},
		{"http://h/p/x.txt", "in/x.txt", "http://h/", "p/x.txt"},
		{"http://h/data", "in/x.txt", "http://h/data", ""},
		{"http://h/", "in/x.txt", "http://h/", ""},
		{"file:", "/in/x.txt", "file:", ""},
	} {
		a := &Announcement{Topic: "v03", Time: At(time.Unix(1, 0)), Base: c[0], Path: c[1]}
		want, _ := a.Retrieval(BaseAuto)
		m, err := EncodeV03(a)
		var body map[string]any
		if jerr := json.Unmarshal(m.Body, &body); jerr != nil || err != nil || body["baseUrl"] != c[2] || text(body["retrievePath"]) != c[3] {
			t.Errorf("%v: %s %v", c, m.Body, err)
		}
		back := v03(t, string(m.Body))
		got, err := back.Retrieval(BaseAuto)
		if want.Second != "" {
			want = Retrieval{URL: want.Second, Path: want.SecondPath} // v03 always joins
		}
		if err != nil || got != want {
			t.Errorf("%v: to be fetched from %+v, was %+v", c, got, want)
		}
		w, err := EncodeV02(back)
		if again, derr := DecodeV02("v02", w.Headers, w.Body); err != nil || derr != nil {
			t.Errorf("%v: %v %v", c, err, derr)
		} else if got, err = again.Retrieval(BaseAuto); err != nil || got != want {
			t.Errorf("%v: in v02 from %+v, was %+v", c, got, want)
		}
	}
	if r, err := v03(t, `{"pubTime":"20200102T030405","baseUrl":"http://h/p/sub","relPath":"x/sub"}`).Retrieval(BaseAuto); err != nil || r.URL != "http://h/p/sub/x/sub" {
		t.Errorf("v03 joins: %+v %v", r, err)
	}
}

// announcements are any that both versions carry.
func announcements() *rapid.Generator[*Announcement] {
	return rapid.Custom(func(t *rapid.T) *Announcement {
		a := &Announcement{Topic: "v03.post.x", Base: rapid.SampledFrom([]string{"http://h/", "http://h", "file:", "sftp://u@h/d/"}).Draw(t, "base")}
		a.Time = At(time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns")))
		a.Path = rapid.StringMatching(`[a-zA-Zé% #\n\x{1}"\\./$]{0,20}`).Draw(t, "path") + rapid.SampledFrom([]string{"x", "\xff\xfe", "a%20b", "é"}).Draw(t, "end")
		a.Headers = map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			a.SetHeader(rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "name"), rapid.StringN(0, 50, MaxHeader).Draw(t, "value"))
		}
		if rapid.Bool().Draw(t, "times") {
			a.Headers[HeaderMtime] = FormatTime(a.Time.Time())
		}
		base := a.Path[strings.LastIndexByte(a.Path, '/')+1:]
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			a.Headers[HeaderLink] = rapid.StringN(1, 40, MaxHeader).Draw(t, "link")
			a.Sum = OfLink(a.Header(HeaderLink))
		case 1:
			a.Sum = OfRemoval(base)
		case 2:
			a.SetHeader(HeaderOldname, rapid.StringN(1, 40, MaxHeader).Draw(t, "old"))
			a.Sum = OfName(base)
		default:
			a.Sum = rapid.SampledFrom([]Fingerprint{{SumMD5, "d41d8cd98f00b204e9800998ecf8427e"}, OfHash(SumSHA512, NewHash(SumSHA512)), {SumLater, SumSHA512}, {SumNone, "0042"}, {SumGiven, "65537"}, {"p", "zzz"}, {SumMD5, "abc"}}).Draw(t, "sum")
			n := rapid.Int64Range(0, 1e12).Draw(t, "size")
			a.Block = partition.WholeFile(n)
			if n > 100 && rapid.Bool().Draw(t, "blocks") {
				a.Block = partition.Cut(rapid.SampledFrom([]partition.Method{partition.Inplace, partition.Parted}).Draw(t, "method"), n, n/3)
			}
		}
		return a
	})
}

// Translated to the other version and back, nothing is lost that both can carry.
func TestTranslationKeepsAll(t *testing.T) {
	to02 := func(a *Announcement) (*Announcement, error) {
		m, err := EncodeV02(a)
		if err != nil {
			return nil, err
		}
		return DecodeV02(m.Topic, m.Headers, m.Body)
	}
	to03 := func(a *Announcement) (*Announcement, error) {
		m, err := EncodeV03(a)
		if err != nil {
			return nil, err
		}
		return Decode(m.Topic, nil, m.Body)
	}
	rapid.Check(t, func(t *rapid.T) {
		a := announcements().Draw(t, "a")
		b := a
		for _, over := range []func(*Announcement) (*Announcement, error){to03, to02, to03} {
			next, err := over(b)
			if err != nil {
				t.Fatalf("%+v: %v", b, err)
			}
			b = next
			if !b.Time.Time().Equal(a.Time.Time()) || b.Base != a.Base || b.Path != a.Path || b.Sum != a.Sum || b.Block != a.Block || !maps.Equal(b.Headers, a.Headers) {
				t.Fatalf("%+v came back as %+v", a, b)
			}
		}
	})
}

func FuzzV03(f *testing.F) {
	for _, s := range []string{`{"pubTime":"20200102T030405","baseUrl":"http://h/p","relPath":"a","size":"3","x":{"y":[1]},"retrievePath":"z/","identity":{"method":"cod"}}`,
		`["20200102T030405","http://h/","a",{"blocks":{"size":5,"count":2},"fileOp":{"rename":"q"},"content":{"encoding":"base64","value":"eA=="}}]`,
		`{"pubTime":"20200102T030405","baseUrl":"-","relPath":"-","report":{"code":201,"elapsedTime":1e300}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		a, err := DecodeV03("v03", []byte(body))
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		m, err := EncodeV03(a)
		if err != nil || !json.Valid(m.Body) {
			t.Fatalf("%+v written as %s (%v)", a, m.Body, err)
		}
		b, err := DecodeV03("v03", m.Body)
		if err != nil || b.Path != a.Path || b.Block != a.Block || !b.Time.Time().Equal(a.Time.Time()) || !b.Sum.Equal(a.Sum) {
			t.Fatalf("%+v came back as %+v (%v)", a, b, err)
		}
		from, ferr := a.Retrieval(BaseAuto)
		if back, err := b.Retrieval(BaseAuto); (err == nil) != (ferr == nil) || back != from {
			t.Fatalf("to be fetched from %+v, was %+v", back, from)
		}
	})
}

func BenchmarkV03(b *testing.B) {
	body := []byte(`{"pubTime": "20261121T055032.792484045", "relPath": "sub/foo.txt", "baseUrl": "http://h.example/", "source": "bench", "mode": "755", "size": 12, "mtime": "20200102T030405", "atime": "20261121T055031.914741039", "identity": {"method": "md5", "value": "b1kCrCNwJL3QwXbLkwY9xA=="}}`)
	b.ReportAllocs()
	for b.Loop() {
		a, err := Decode("v03.sub", nil, body)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Encode(a); err != nil {
			b.Fatal(err)
		}
	}
}
