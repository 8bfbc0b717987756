package post

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"srpump/partition"
)

func TestTimestamps(t *testing.T) {
	for _, c := range []struct {
		in, out string
		want    time.Time
	}{
		{"20200102030405", "20200102030405.00", time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)},
		{"20200102030405.25", "20200102030405.25", time.Date(2020, 1, 2, 3, 4, 5, 250e6, time.UTC)},
		{"20261121042604.937465191", "20261121042604.937465191", time.Date(2026, 11, 21, 4, 26, 4, 937465191, time.UTC)},
		{"20261121042607.0143623352", "20261121042607.0143623352", time.Date(2026, 11, 21, 4, 26, 7, 14362335, time.UTC)},
		{"20261121000009.1", "20261121000009.1", time.Date(2026, 11, 21, 0, 0, 9, 100e6, time.UTC)},
		{"20200102T030405.5", "20200102030405.50", time.Date(2020, 1, 2, 3, 4, 5, 500e6, time.UTC)},
		{"201506011357.345", "20150601135700.345", time.Date(2015, 6, 1, 13, 57, 0, 345e6, time.UTC)},
		{"20261121042605.00135803e-05", "20261121042605.00135803", time.Date(2026, 11, 21, 4, 26, 5, 1358030, time.UTC)},
		{"20261121055029.0", "20261121055029.0", time.Date(2026, 11, 21, 5, 50, 29, 0, time.UTC)},
	} {
		s, err := ParseTimestamp(c.in)
		if err != nil || !s.Time().Equal(c.want) || s.String() != c.out {
			t.Errorf("%s: %v as %s (%v), want %v as %s", c.in, s.Time(), s, err, c.want, c.out)
		}
	}
	for _, bad := range []string{"", "x", "2020", "20201302030405", "20200132030405", "20200102250405", "2020010203040", "20200102030405.5x", "-0200102030405", "20200102030405.1.2", "99999999999999"} {
		if s, err := ParseTimestamp(bad); err == nil {
			t.Errorf("%q accepted as %v", bad, s)
		}
	}
}

func TestTopics(t *testing.T) {
	long := strings.Repeat(strings.Repeat("é", 30)+"/", 5) + "leaf"
	for _, c := range []struct {
		path string
		name bool
		want string
	}{
		{"a/b/c/d/foo.txt", true, "v02.post.a.b.c.d.foo.txt"},
		{"a/b/c/d/foo.txt", false, "v02.post.a.b.c.d"},
		{"foo.txt", false, "v02.post"},
		{"/sub/foo.txt", true, "v02.post.sub.foo.txt"},
		{"dir.with.dots/f", false, "v02.post.dir.with.dots"},
		{"sub/.hidden", true, "v02.post.sub.hidden"},
		{"a//b...c/d", true, "v02.post.a.b.c.d"},
		{"a b/c#d", true, "v02.post.a%20b.c%23d"},
		{"s*r/x", true, "v02.post.s*r.x"},
		{"x/a\nb", true, "v02.post.x.a%0Ab"},
		{"bad\xff/x", true, "v02.post.bad\uFFFD.x"},
	} {
		if got := MakeTopic(DefaultPrefix, c.path, c.name); got != c.want {
			t.Errorf("%q: %q, want %q", c.path, got, c.want)
		}
	}
	if got := MakeTopic(DefaultPrefix, long, true); len(got) > MaxTopic || len(got) < MaxTopic-3 || !utf8.ValidString(got) {
		t.Errorf("long topic of %d bytes: %q", len(got), got)
	}
	if got := Reprefix("v02.post.a.b", "v02.post", "v02.mine"); got != "v02.mine.a.b" {
		t.Errorf("reprefix: %s", got)
	}
	if got := Reprefix("v02.poster.a", "v02.post", "x"); got != "v02.poster.a" {
		t.Errorf("reprefix took a part of a word: %s", got)
	}
}

func TestFingerprints(t *testing.T) {
	sum := func(method, content string) string {
		f, _, err := OfReader(method, strings.NewReader(content), make([]byte, 16))
		if err != nil {
			t.Fatal(err)
		}
		return f.String()
	}
	for _, c := range [][2]string{
		{sum("d", "hello world\n"), "d,6f5902ac237024bdd0c176cb93063dc4"},
		{sum("s", "hello world\n"), "s,db3974a97f2407b7cae1ae637c0030687a11913274d578492558e39c16c017de84eacdc8c62fe34ee4e12b4b1428817f09b6a2760c3f8a664ceae94d2434a593"},
		{sum("d", ""), "d,d41d8cd98f00b204e9800998ecf8427e"},
		{OfName("foo.txt").String(), "n,4fd8cc85ca9eebd2fa3c550069ce2846"},
		{OfLink("foo.txt").String(), "L,eac76c976516d4234d4777c8c0a5cab984eb604c06290962debcd0f4aecc124147f6747b0551b478ecab26e2b54a3916cc9c261f5b9bcc9e44f375f17850270a"},
		{OfRemoval("ren.txt").String(), "R,b1aa381f42cb706bc1e9fcc84e4b13a49f3df943ce4dcb9a61b5e5b2c5d7ab04af55e34eee4e1872d3493f8bcf21224146bc0ce44f9ff76df000eff8316fc566"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s, want %s", c[0], c[1])
		}
	}
	if s := NoSum(); s.Method != "0" || len(s.Value) != 4 || digits(s.Value) != 4 {
		t.Errorf("no sum: %v", s)
	}
	for in, want := range map[string]string{"R": "R,", "R,0": "R,0", "z,d": "z,d", "a,65537": "a,65537", "xyz,1,2": "xyz,1,2"} {
		if f, err := ParseSum(in); err != nil || f.String() != want {
			t.Errorf("%q: %v %v", in, f, err)
		}
	}
	for _, bad := range []string{"", ",x", "d,a b", "d,\n", "d," + strings.Repeat("a", 300)} {
		if f, err := ParseSum(bad); err == nil {
			t.Errorf("%q accepted as %v", bad, f)
		}
	}
	if !(Fingerprint{"d", "AB"}).Equal(Fingerprint{"d", "ab"}) || (Fingerprint{"a", "AB"}).Equal(Fingerprint{"a", "ab"}) {
		t.Error("only checksums compare without case")
	}
}

// decode is a message with these headers.
func decode(t *testing.T, body string, headers map[string]any) *Announcement {
	t.Helper()
	a, err := DecodeV02("v02.post.x", headers, []byte(body))
	if err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	return a
}

func TestFirstLine(t *testing.T) {
	for body, path := range map[string]string{
		"20200102030405.25 http://h.example/ /sub/foo.txt":            "/sub/foo.txt",
		"20200102030405.25 http://h.example/ sub/foo.txt \n":          "sub/foo.txt",
		"20200102030405.25 http://h.example/ sub/foo.txt\n":           "sub/foo.txt",
		"20200102030405.25  http://h.example/\tsub/foo.txt\nrest\xff": "sub/foo.txt",
		"20200102030405.25 http://h.example/ a%20b%23c*.txt \n":       "a b#c*.txt",
		"20200102030405.25 http://h.example/ 100%.txt \n":             "100%.txt",
		"20200102030405.25 http://h.example/ x%0Ay%2Fz \n":            "x\ny%2Fz",
		"20200102030405.25 http://h.example/ ${HOME}/$(id) \n":        "${HOME}/$(id)",
		"20200102030405.25 http://h.example/ a\u00a0b \n":             "a\u00a0b",
		"20260101000000.1 http://h/ x 201 host user 0.1 \n":           "x",
	} {
		if a := decode(t, body, nil); a.Path != path {
			t.Errorf("%q: path %q, want %q", body, a.Path, path)
		}
	}
}

func TestMalformed(t *testing.T) {
	good := "20200102030405.25 http://h.example/ sub/foo.txt \n"
	for _, c := range []struct {
		body    string
		headers map[string]any
	}{
		{"", nil}, {"\n", nil}, {"nospace", nil}, {"20200102030405.25 http://h/", nil}, {"20200102030405.25 http://h/ \n", nil},
		{"notadate http://h/ x", nil}, {"20200102030405.25 http://h/ x\xff\xfe", nil},
		{strings.Repeat("x", 10<<20), nil}, {"20200102030405.25 http://h/ " + strings.Repeat("y", 10<<20), nil},
		{"20200102030405.25 http://h/ a\x00b", nil},
		{good, map[string]any{"sum": int32(5)}}, {good, map[string]any{"sum": nil}}, {good, map[string]any{"sum": ",x"}},
		{good, map[string]any{"parts": "i,100,3,50,3"}}, {good, map[string]any{"parts": true}}, {good, map[string]any{"parts": "1,2,3,4,5,6"}},
		{"{", nil}, {`{"pubTime":"20200102T030405"}`, nil}, {`{"pubTime":"x","baseUrl":"http://h/","relPath":"a"}`, nil},
		{`{"pubTime":"20200102T030405","baseUrl":"http://h/","relPath":"a\u0000b"}`, nil}, {`{"pubTime":7}`, nil},
	} {
		if a, err := Decode("v02.post", c.headers, []byte(c.body)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%.60q %v: %+v, %v", c.body, c.headers, a, err)
		}
	}
}

// Headers of every AMQP type pass through; those with a meaning are text.
func TestUnknownHeadersForwarded(t *testing.T) {
	in := map[string]any{"sum": []byte("d,abc"), "x_unknown": "keep", "n": int64(7), "b": true, "t": map[string]any{"k": int32(1)}, "l": []any{"x"}, "nil": nil, "f": 1.5, "content": "v03", "_retry_tag_": "done"}
	a := decode(t, "20261121000009.1 http://h/ x", in)
	m, err := EncodeV02(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"x_unknown", "n", "b", "t", "l", "nil", "f"} {
		if _, ok := m.Headers[k]; !ok {
			t.Errorf("header %s lost", k)
		}
	}
	if _, ok := m.Headers["n"].(int64); !ok || m.Headers["sum"] != "d,abc" {
		t.Errorf("types changed: %#v", m.Headers)
	}
	for _, k := range []string{"content", "_retry_tag_", "parts"} {
		if _, ok := m.Headers[k]; ok {
			t.Errorf("header %s sent on", k)
		}
	}
	if string(m.Body) != "20261121000009.1 http://h/ x \n" {
		t.Errorf("line %q", m.Body)
	}
}

func TestEncodeStrictly(t *testing.T) {
	long := strings.Repeat("x", MaxHeader+1)
	a := &Announcement{Topic: "v02.post", Time: At(time.Unix(1, 0)), Base: "http://h/", Path: "a b", Headers: map[string]any{"user": long, "rename": "/ok"}}
	m, err := EncodeV02(a)
	if err != nil || len(m.Dropped) != 1 || m.Dropped[0] != "user" || m.Headers["rename"] != "/ok" {
		t.Errorf("%+v %v", m, err)
	}
	if s, _ := m.Headers["sum"].(string); !strings.HasPrefix(s, "0,") {
		t.Errorf("a message without sum: %q", s)
	}
	a.Headers["link"] = long
	if _, err := EncodeV02(a); !errors.Is(err, ErrTooLong) {
		t.Errorf("long link: %v", err)
	}
	for _, p := range []string{"", "a\x00b"} {
		if _, err := EncodeV02(&Announcement{Path: p, Base: "http://h/"}); err == nil {
			t.Errorf("path %q encoded", p)
		}
	}
}

// Names v02 cannot carry travel in a header of their own; a forged one is ignored.
func TestExactPath(t *testing.T) {
	for _, name := range []string{"a%20b", "latin-\xe9", "bell\a", "a%23", "plain", "é ü", "x%2", "tab\there"} {
		a := &Announcement{Time: At(time.Unix(1, 0)), Base: "http://h/", Path: "d/" + name}
		m, err := EncodeV02(a)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeV02("", m.Headers, m.Body)
		if err != nil || back.Path != a.Path {
			t.Errorf("%q came back as %q (%v)", a.Path, back.Path, err)
		}
	}
	a := decode(t, "20200102030405.25 http://h/ a.txt", map[string]any{HeaderExactPath: "Li4vLi4vZXRjL3Bhc3N3ZA=="})
	if a.Path != "a.txt" {
		t.Errorf("forged path %q", a.Path)
	}
	for exact, path := range map[string]string{"YeE=": "a\xe1", "Li4vLi4vZXRjL3Bhc3N3ZA==": "a\ufffd", "YuE=": "a\ufffd", "YQDh": "a\ufffd", "no base64": "a\ufffd", "Ye+/vQ==": "a\ufffd"} {
		a, err := DecodeV03("v03", []byte(`{"pubTime":"20200102T030405","baseUrl":"http://h/","relPath":"a\ufffd","exact_path":"`+exact+`"}`))
		if err != nil || a.Path != path || a.Header(HeaderExactPath) != "" {
			t.Errorf("v03, %s: %+v %v", exact, a, err)
		}
	}
	if _, err := EncodeV02(&Announcement{Base: "http://h/", Path: strings.Repeat("\xe9", 250)}); !errors.Is(err, ErrTooLong) {
		t.Errorf("uncarriable name: %v", err)
	}
}

func TestSizes(t *testing.T) {
	a := &Announcement{}
	if a.Size() != -1 {
		t.Error("size known without parts")
	}
	a.Block = partition.Block{Method: partition.Inplace, Size: 100, Count: 3, Remainder: 50, Number: 2}
	if a.Size() != 50 {
		t.Errorf("size %d", a.Size())
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("20200102030405.25 http://h.example/ /sub/foo.txt", "d,6f5902ac237024bdd0c176cb93063dc4", "1,12,1,0,0")
	f.Add("20200102030405 file: /a%20b%23c \n", "R", "")
	f.Add(`{"pubTime":"20200102T030405","baseUrl":"http://h/","relPath":"a","size":"3"}`, "", "")
	f.Fuzz(func(t *testing.T, body, sum, parts string) {
		h := map[string]any{"x": "y"}
		if sum != "" {
			h["sum"] = sum
		}
		if parts != "" {
			h["parts"] = parts
		}
		a, err := Decode("v02.post.a", h, []byte(body))
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		a.Retrieval(BaseAuto)
		m, err := EncodeV02(a)
		if err != nil {
			return
		}
		back, err := DecodeV02(m.Topic, m.Headers, m.Body)
		if err != nil || back.Path != a.Path || !back.Time.Time().Equal(a.Time.Time()) || back.Block != a.Block {
			t.Fatalf("%q: %+v came back as %+v (%v)", body, a, back, err)
		}
		if a.Sum != (Fingerprint{}) && back.Sum != a.Sum {
			t.Fatalf("sum %v came back as %v", a.Sum, back.Sum)
		}
	})
}

func FuzzTopic(f *testing.F) {
	f.Add("a/b/c.txt", true)
	f.Add("../é ü/#", false)
	f.Fuzz(func(t *testing.T, path string, name bool) {
		got := MakeTopic(DefaultPrefix, path, name)
		if len(got) > MaxTopic || !utf8.ValidString(got) || strings.Contains(got, "..") || strings.ContainsAny(got, " #\n") || !strings.HasPrefix(got, DefaultPrefix) {
			t.Fatalf("%q: topic %q", path, got)
		}
	})
}

func FuzzSum(f *testing.F) {
	f.Add("d,6f5902ac237024bdd0c176cb93063dc4")
	f.Add("R")
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseSum(s)
		if err != nil {
			return
		}
		if b, err := ParseSum(a.String()); err != nil || b != a || !strings.Contains(a.String(), ",") {
			t.Fatalf("%q: %v read back as %v (%v)", s, a, b, err)
		}
	})
}

func FuzzTimestamp(f *testing.F) {
	f.Add("20200102030405.25")
	f.Add("201506011357.345")
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseTimestamp(s)
		if err != nil {
			return
		}
		if b, err := ParseTimestamp(a.String()); err != nil || !b.Time().Equal(a.Time()) {
			t.Fatalf("%q: %v read back as %v (%v)", s, a, b, err)
		}
	})
}
