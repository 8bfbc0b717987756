package retry

import (
	"strings"
	"testing"

	"srpump/post"
)

// Lines of v02 and of ours become what was announced; all others are passed over.
func TestFromLog(t *testing.T) {
	for line, want := range map[string]string{
		`2026-11-21 04:27:37,618 [INFO] post_log notice=20261121042737.61 http://h/ /d/a%20b headers={'parts': '1,12,1,0,0', 'sum': 'd,6f59', "it's": "a \"b\" \x41\n", 'n': 3, 'x': None}`://
		`["v02.post.d.a%20b",{"it's":"a \"b\" A\n","n":"3","parts":"1,12,1,0,0","sum":"d,6f59"},"20261121042737.61 http://h/ /d/a%20b"]`,
		`2026-11-21 04:27:37,618 [INFO] msg_log received: 20261121042737.61 http://h/ /d/a topic=v02.post.d lag=0.61 source=SRC sum=R,x`://
		`["v02.post.d",{"source":"SRC","sum":"R,x"},"20261121042737.61 http://h/ /d/a"]`,
		`2026-11-21 04:27:37,618 [INFO] fetched path=/in/a bytes=12 url=http://h:81/d/a%20b sum=d,6f59`://
		`["v02.post.d.a%20b",{"parts":"1,12,1,0,0","sum":"d,6f59"},"20261121042737.618 http://h:81/ d/a%20b"]`,
		`2026-11-21 04:27:37,618 [WARNING] retry path="/in/a b" url=file:///d/a class=temporary error="cannot fetch: x=y"`://
		`["v02.post.d.a",{},"20261121042737.618 file: /d/a"]`,
		`2026-11-21 04:27:37,618 [DEBUG] announced topic=v02.post.d path=/d/a sum=L,0f base=http://h/ announced=20261121000000.5 parts=1,3,1,0,0`://
		`["v02.post.d",{"parts":"1,3,1,0,0","sum":"L,0f"},"20261121000000.5 http://h/ /d/a"]`,
		`{"time":"2026-11-21T04:27:37.618Z","level":"INFO","msg":"announced","topic":"v02.post.d","path":"/d/a b","sum":"L,0f","base":"http://h/","announced":"20261121000000.5","parts":"1,3,1,0,0"}`://
		`["v02.post.d",{"parts":"1,3,1,0,0","sum":"L,0f"},"20261121000000.5 http://h/ /d/a%20b"]`,
		`{"time":"2026-11-21T05:27:37.618+01:00","level":"INFO","msg":"fetched","path":"/in/a","bytes":12,"url":"http://h/d/a","sum":"d,6f59"}`://
		`["v02.post.d.a",{"parts":"1,12,1,0,0","sum":"d,6f59"},"20261121042737.618 http://h/ d/a"]`,
		`{"time":"2026-11-21T04:27:37.618Z","level":"INFO","msg":"heartbeat"}`: "",
		`2026-11-21 04:27:37,618 [INFO] file_log downloaded to: /in/a`:         "",
		`2026-11-21 04:27:37,618 [INFO] heartbeat received=1`:                  "",
		`2026-11-21 04:27:37,618 [INFO] fetched path=/in/a`:                    "",
		`something else`: "",
	} {
		m, told, err := FromLog(line)
		if err != nil || told != (want != "") {
			t.Errorf("%s: %v %v", line, told, err)
			continue
		}
		if !told {
			continue
		}
		if got, err := EncodeMessage(m); err != nil || string(got) != want+"\n" {
			t.Errorf("%s:\n got %s\nwant %s (%v)", line, got, want, err)
		}
	}
}

// What a log cannot show as it is comes back exactly; a name that looks like an escape is one, and a
// header that speaks of another path than the line is not believed.
func TestLogWords(t *testing.T) {
	for _, path := range []string{"/d/a", "/a\u2028b", `/a\u2028b`, "/\u2028%20\ufeff", "/\xff\u2028", "/\x1b[2J\u0085", "/back\\slash", "/\ufffd"} {
		a := &post.Announcement{Topic: "v02.post", Base: "http://h/", Path: path, Headers: map[string]any{}}
		m, err := post.EncodeV02(a)
		if err != nil {
			t.Fatal(err)
		}
		words := LogWords(m, path)
		if strings.ContainsAny(words, "\u2028\u0085\n\x1b") {
			t.Errorf("%q shows what it must not", words)
		}
		m, told, err := FromLog("2026-11-21 04:27:37,618 [INFO] post_log notice=" + words)
		if err != nil || !told {
			t.Fatalf("%q: %v %v", words, told, err)
		}
		if a, err = post.DecodeV02(m.Topic, m.Headers, m.Body); err != nil || a.Path != path {
			t.Errorf("%q, not %q: %v", a.Path, path, err)
		}
	}
	m, _, err := FromLog(`post_log notice=20261121042737.61 http://h/ /d/a headers={'exact_path': 'L2V0Yy9wYXNzd2Q=', 'sum': '0,1'}`)
	if a, bad := post.DecodeV02(m.Topic, m.Headers, m.Body); err != nil || bad != nil || a.Path != "/d/a" {
		t.Errorf("%+v %v %v", a, err, bad)
	}
}

func TestFromDamagedLog(t *testing.T) {
	for _, line := range []string{
		`post_log notice=20261121042737.61 http://h/`, `post_log notice=20261121042737.61 http://h/ a headers={'a': 'b`, `post_log notice=20261121042737.61 http://h/ a headers={'a' 'b'}`,
		`post_log notice=20261121042737.61 http://h/ a headers={'a': {'b': 'c'}}`, `post_log notice=yesterday http://h/ a headers={}`, `msg_log received: `,
		`yesterday [INFO] fetched url=http://h/a bytes=1`, `2026-11-21 04:27:37,618 [INFO] fetched path=a bytes=-1 url=http://h/d/a sum=d,1`,
	} {
		if m, told, err := FromLog(line); !told || err == nil {
			t.Errorf("%s: %+v %v", line, m, told)
		}
	}
}

// Headers are written as Python prints them, in order, and read back as they were.
func TestPythonDict(t *testing.T) {
	h := map[string]any{"sum": "d,6f59", "it's": `a "b"`, "q": `it's`, "two": "'\"", "back": `C:\x`, "n": int64(3), "none": nil, "yes": true,
		"bad": "a\nb\u2028\x1b", "bytes": []byte("raw")}
	got := PythonDict(h)
	want := `{'back': 'C:\\x', 'bad': 'a\nb\u2028\x1b', 'bytes': 'raw', "it's": 'a "b"', 'n': 3, 'none': None, 'q': "it's", 'sum': 'd,6f59', 'two': '\'"', 'yes': True}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	back, err := pythonDict(got)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]any{"bad": h["bad"], "back": h["back"], "two": h["two"], "n": "3", "yes": "True", "none": nil} {
		if back[k] != v {
			t.Errorf("%s: %q, not %q", k, back[k], v)
		}
	}
}

func FuzzFromLog(f *testing.F) {
	f.Add(`post_log notice=20261121042737.61 http://h/ /d/a headers={'parts': '1,12,1,0,0', "b": None}`)
	f.Add(`2026-11-21 04:27:37,618 [INFO] fetched path=/in/a bytes=12 url=http://h:81/d/a%20b sum=d,6f59`)
	f.Fuzz(func(t *testing.T, line string) {
		m, told, err := FromLog(line)
		if err != nil || !told {
			return
		}
		out, err := EncodeMessage(m)
		if err != nil || strings.Count(string(out), "\n") != 1 {
			t.Fatalf("%q: %q %v", line, out, err)
		}
		back, _, err := DecodeSaved(out)
		if err != nil {
			t.Fatalf("%q: %q cannot be restored: %v", line, out, err)
		}
		if _, err := post.DecodeV02(back.Topic, back.Headers, back.Body); err != nil {
			t.Fatal(err)
		}
	})
}
