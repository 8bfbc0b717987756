package pump

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
)

// json03 is the body of a v03 announcement of a file below base, with these members besides.
func json03(base, path string, members ...string) []byte {
	return []byte(fmt.Sprintf(`{"pubTime":"20231114T221320.00","baseUrl":%q,"relPath":%q,%s}`, base, path, strings.Join(members, ",")))
}

// identity03 is the member identity of bytes.
func identity03(content string) string {
	h := post.NewHash(post.SumMD5)
	h.Write([]byte(content))
	return fmt.Sprintf(`"identity":{"method":"md5","value":%q},"size":%d`, base64.StdEncoding.EncodeToString(h.Sum(nil)), len(content))
}

// Announcements of every version on one queue are all fetched; what is none of them is kept aside.
func TestEveryVersionOnOneQueue(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/d/v00": "zero", "/d/v02": "two", "/d/v03": "three", "/d/early": "early", "/d/bare": "bare"})
	v00, base := announced(web.URL+"/", "d/v00", "zero", 1), web.URL+"/"
	f, stop := h.run(config.Subscribe, "-topic_prefix", "v02.post", "-subtopic", "#", "-topic_prefix", "v03", "-subtopic", "#",
		"-topic_prefix", "v00.dd.notify", "-subtopic", "#", "-directory", h.dir+"/out", "-mirror", "on")
	put := func(topic string, body []byte) {
		h.publish("xpublic", broker.Publishing{Key: topic, Body: body})
	}
	put("v00.dd.notify.d", []byte(fmt.Sprintf("%s 4 %s d/v00", v00.Sum.Value, base)))
	put("v03.d", json03(base, "d/v03", identity03("three"), `"mtime":null,"who":{"knows":[1,null]},"n":7`))
	put("v02.post.d", json03(base, "d/bare", `"identity":null`))
	put("v03.d", []byte(fmt.Sprintf(`["20231114T221320.00",%q,"d/early",{"integrity":{"method":"md5"},"size":"5"}]`, base)))
	for _, bad := range []string{`{"pubTime":null}`, `[]`, `{"pubTime":"20231114T221320","baseUrl":"http://h/"}`, `{"pubTime`, "v03"} {
		put("v03.d", []byte(bad))
	}
	h.post("xpublic", announced(base, "d/v02", "two", 1700000000))
	h.until("all are here", func() bool { return f.Counters.Fetched.Load() == 5 })
	h.until("the rest is kept aside", func() bool { return f.Counters.Malformed.Load() == 5 })
	stop()
	for name, want := range map[string]string{"v00": "zero", "v02": "two", "v03": "three", "early": "early", "bare": "bare"} {
		if got := h.content("out/d/" + name); got != want {
			t.Errorf("%s holds %q", name, got)
		}
	}
}

// sr_shovel(1) translates by its prefix, and gives back what it was given.
func TestShovelTranslates(t *testing.T) {
	h := newHouse(t)
	there := newHouse(t)
	as03, back := there.capture("x03"), h.capture("x02")
	_, stop := h.run(config.Shovel, "-exchange", "xin", "-post_exchange", "x03", "-post_topic_prefix", "v03.post", "-pb", "sqlite://"+there.db)
	_, stop2 := there.run(config.Shovel, "-exchange", "x03", "-topic_prefix", "v03.post", "-post_exchange", "x02", "-post_topic_prefix", "v02.post", "-pb", "sqlite://"+h.db)
	a := announced("http://h/", "a b/é%20", "1", 1700000000)
	a.Headers = map[string]any{"source": "SRC", "x_unknown": "keep", "oldname": "was", "mtime": "20200102030405.25"}
	h.post("xin", a)
	h.until("both are moved", func() bool { return len(as03()) == 1 && len(back()) == 1 })
	stop()
	stop2()
	for _, got := range []*post.Announcement{as03()[0], back()[0]} {
		for k, v := range a.Headers {
			if got.Headers[k] != v {
				t.Errorf("%s: header %s is %v, was %v", got.Topic, k, got.Headers[k], v)
			}
		}
		if got.Path != a.Path || got.Sum != a.Sum || got.Block != a.Block || !got.Time.Time().Equal(a.Time.Time()) {
			t.Errorf("%+v", got)
		}
	}
	if as03()[0].Topic != "v03.post.a%20b.é%20" || back()[0].Topic != a.Topic {
		t.Errorf("topics %s and %s", as03()[0].Topic, back()[0].Topic)
	}
}

// sr_options(5), inline: a file that came with its announcement is verified and installed, and
// nothing is fetched; one that is not what is announced is fetched.
func TestCarriedContent(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/other": "right", "/longer": "right", "/unsure": "from there", "/strange": "right"})
	got := h.capture("xcopy")
	f, stop := h.run(config.Sarra, "-exchange", "xin", "-topic_prefix", "v03", "-post_exchange", "xcopy", "-post_topic_prefix", "v03.post",
		"-post_base_url", "http://me/", "-post_base_dir", h.dir+"/out", "-directory", h.dir+"/out")
	content := func(encoding, value string) string {
		return fmt.Sprintf(`"content":{"encoding":%q,"value":%q}`, encoding, value)
	}
	h.publish("xin",
		broker.Publishing{Key: "v03.x", Body: json03("http://127.0.0.1:1/", "text", identity03("hé\n"), content("utf-8", "hé\n"))},
		broker.Publishing{Key: "v03.x", Body: json03("http://127.0.0.1:1/", "bytes", identity03("\xff\x00"), content("base64", "/wA="))},
		broker.Publishing{Key: "v03.x", Body: json03("http://127.0.0.1:1/", "empty", identity03(""), content("utf-8", ""))},
		broker.Publishing{Key: "v03.x", Body: json03(web.URL, "other", identity03("right"), content("utf-8", "wrong"))},
		broker.Publishing{Key: "v03.x", Body: json03(web.URL, "longer", identity03("right"), content("utf-8", strings.Repeat("right", 1<<18)))},
		broker.Publishing{Key: "v03.x", Body: json03(web.URL, "strange", identity03("right"), content("gzip", "right"))},
		broker.Publishing{Key: "v03.x", Body: json03(web.URL, "unsure", `"x":"y"`, content("utf-8", "from here"))})
	h.until("all are here", func() bool { return f.Counters.Fetched.Load() == 7 && len(got()) == 7 })
	stop()
	for name, want := range map[string]string{"text": "hé\n", "bytes": "\xff\x00", "empty": "", "other": "right", "longer": "right", "strange": "right", "unsure": "from there"} {
		if s := h.content("out/" + name); s != want {
			t.Errorf("%s holds %.40q", name, s)
		}
	}
	for _, a := range got() { // what was not used is not sent on
		if carried := a.Path == "text" || a.Path == "bytes" || a.Path == "empty"; (a.Content != nil) != carried {
			t.Errorf("%s sent on with content %+v", a.Path, a.Content)
		}
	}
	if n := strings.Count(h.log.String(), "carried content is not what is announced"); n != 2 {
		t.Errorf("%d complaints", n)
	}
}

// Posters and those who post again carry small files, in v03 alone.
func TestInline(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	for name, content := range map[string]string{"small": "hello\n", "large": strings.Repeat("x", 101), "raw": "\xff"} {
		if err := os.MkdirAll(filepath.Join(h.dir, "base"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.dir, "base", name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string // name and encoding of what is carried
	}{
		{[]string{"-post_topic_prefix", "v03.post"}, "raw base64,small utf-8"},
		{[]string{"-post_topic_prefix", "v03.post", "-inline_encoding", "binary"}, "raw base64,small base64"},
		{[]string{"-post_topic_prefix", "v03.post", "-inline_encoding", "text"}, "small utf-8"},
		{[]string{"-post_topic_prefix", "v03.post", "-inline_max", "0"}, ""},
		{nil, ""},
	} {
		before := len(got())
		args := append([]string{"-post_exchange", "xout", "-post_base_url", "http://h/", "-post_base_dir", h.dir + "/base", "-inline", "on", "-inline_byte_limit", "100"}, c.args...)
		p, err := NewPoster(h.config(config.Post, args...), h.host())
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Post(t.Context(), []string{h.dir + "/base"}); err != nil {
			t.Fatal(err)
		}
		h.until("three are announced", func() bool { return len(got()) == before+3 })
		if s := inlined(got()[before:]); s != c.want {
			t.Errorf("%v: carried %q, want %q", c.args, s, c.want)
		}
	}
	if n := strings.Count(h.log.String(), "inline has no effect"); n != 1 {
		t.Errorf("said %d times that it has no effect", n)
	}
	copies := h.capture("xcopy")
	web := h.web(map[string]string{"/small": "hello\n"})
	_, stop := h.run(config.Sarra, "-exchange", "xin", "-post_exchange", "xcopy", "-post_topic_prefix", "v03.post", "-inline", "on",
		"-post_base_url", "http://me/", "-post_base_dir", h.dir+"/out", "-directory", h.dir+"/out")
	h.post("xin", announced(web.URL+"/", "small", "hello\n", 1700000000))
	h.until("the copy is announced", func() bool { return len(copies()) == 1 })
	stop()
	if s := inlined(copies()); s != "small utf-8" {
		t.Errorf("the copy carries %q", s)
	}
}

// inlined tells which announcements carry their files, by name.
func inlined(as []*post.Announcement) string {
	var out []string
	for _, name := range []string{"large", "raw", "small"} {
		for _, a := range as {
			if a.Path == name && a.Content != nil {
				out = append(out, name+" "+map[bool]string{true: "base64", false: "utf-8"}[a.Content.Binary])
			}
		}
	}
	return strings.Join(out, ",")
}

// Retry queue, save file and dead letters keep what v02 has no place for.
func TestV03KeptWhole(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xout")
	args := []string{"-exchange", "xin", "-topic_prefix", "v03", "-post_exchange", "xout", "-save_file", h.dir + "/kept"}
	f, stop := h.run(config.Shovel, append(args, "-save", "on")...)
	body := json03("http://h/", "d/x", identity03("hello"), `"content":{"encoding":"utf-8","value":"hello"},"geo":{"type":"Point","at":[1.5,null]},"long":"`+strings.Repeat("y", 300)+`","retrievePath":"api?x=1"`)
	h.publish("xin", broker.Publishing{Key: "v03.d", Body: body})
	h.until("it is saved", func() bool { return f.Counters.Received.Load() == 1 })
	stop()
	_, stop = h.run(config.Shovel, append(args, "-restore", "on")...)
	h.until("it is restored", func() bool { return len(got()) == 1 })
	stop()
	a := got()[0]
	if a.Content == nil || string(a.Content.Data) != "hello" || a.Headers["geo"] != post.JSON(`{"type":"Point","at":[1.5,null]}`) || len(a.Header("long")) != 300 || a.Header("retrievePath") != "api?x=1" {
		t.Errorf("%+v", a)
	}
}
