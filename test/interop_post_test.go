package test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	amqp "github.com/rabbitmq/amqp091-go"
)

// stamp is the time the living peers' test tree has.
var stamp = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)

// makeBase makes /base/sub/foo.txt and what else the numbered cases announce.
func makeBase(t testing.TB, h *host) {
	t.Helper()
	h.write("base/sub/foo.txt", "hello world\n")
	h.write("base/sub/a b#c*.txt", "odd\n")
	h.write("base/dir.with.dots/v1.2.txt", "dots\n")
	h.write("base/p250.dat", strings.Repeat("A", 250))
	h.write("base/"+strings.Repeat(strings.Repeat("é", 30)+"/", 5)+"leaf", "deep\n")
	must(t, os.Symlink("foo.txt", h.path("base/sub/lnk")))
	for name, size := range map[string]int64{"s60": 60 << 20, "s50": 50 << 20} {
		h.write("base/"+name, "")
		must(t, os.Truncate(h.path("base", name), size))
	}
	must(t, os.Chtimes(h.path("base/sub/foo.txt"), stamp, stamp))
}

// A wire is one message as the library of AMQP gives it.
type wire struct {
	amqp.Delivery
	fields []string // of the first line
}

// header is a header that must be an AMQP long string.
func (w wire) header(t testing.TB, name string) string {
	t.Helper()
	v, there := w.Headers[name]
	s, ok := v.(string)
	if there && !ok {
		t.Errorf("header %s is a %T, not a long string", name, v)
	}
	return s
}

// next is the next message, checked for what every announcement must be.
func next(t testing.TB, from <-chan amqp.Delivery) wire {
	t.Helper()
	select {
	case d := <-from:
		line, rest, ok := strings.Cut(string(d.Body), " \n")
		w := wire{d, strings.Split(line, " ")}
		if !ok || rest != "" || len(w.fields) != 3 || !regexp.MustCompile(`^\d{14}\.\d+$`).MatchString(w.fields[0]) {
			t.Fatalf("body %q", d.Body)
		}
		if d.ContentType != "text/plain" || d.ContentEncoding != "utf-8" || d.DeliveryMode != 2 {
			t.Errorf("properties %q %q %d", d.ContentType, d.ContentEncoding, d.DeliveryMode)
		}
		for name := range d.Headers {
			if v := w.header(t, name); len(v) > 252 {
				t.Errorf("header %s of %d bytes", name, len(v))
			}
		}
		return w
	case <-time.After(deadline):
		t.Fatal("nothing was announced")
		return wire{}
	}
}

// expect compares headers; an empty want is a header that must not be there.
func (w wire) expect(t testing.TB, want map[string]string) {
	t.Helper()
	for name, v := range want {
		if _, there := w.Headers[name]; v == "" && there {
			t.Errorf("header %s is there: %q", name, w.header(t, name))
		} else if got := w.header(t, name); v != "" && !regexp.MustCompile("^(?:"+v+")$").MatchString(got) {
			t.Errorf("header %s is %q, not %q", name, got, v)
		}
	}
}

// What sr_post puts on the wire, case by case as measured with the living peers.
func TestInteropPost(t *testing.T) { onBothBrokers(t, interopPost) }

func interopPost(t *testing.T, url string) {
	h := newHost(t)
	makeBase(t, h)
	exchange := fresh("xs_guest")
	got := rawCapture(t, url, exchange)
	user := "guest" // of the broker; a file has none
	if strings.HasPrefix(url, "sqlite:") {
		user = ""
	}
	deep := strings.Repeat(strings.Repeat("é", 30)+"/", 5) + "leaf"
	for _, c := range []struct {
		name, path string
		args       []string
		topic, rel string // rel: relpath, the leading slash left out
		headers    map[string]string
	}{
		{"1 a plain file", "sub/foo.txt", nil, "v02.post.sub.foo.txt", "sub/foo.txt", map[string]string{"parts": "1,12,1,0,0",
			"sum": helloSum, "mode": "644", "mtime": `20200102030405\.0+`, "to_clusters": "DD", "source": user}},
		{"1 directories only", "sub/foo.txt", []string{"-post_topic_filename", "off"}, "v02.post.sub", "sub/foo.txt", nil},
		{"2 sum of the name", "sub/foo.txt", []string{"-sum", "n"}, "", "sub/foo.txt", map[string]string{"sum": "n,4fd8cc85ca9eebd2fa3c550069ce2846"}},
		{"4 no sum", "sub/foo.txt", []string{"-sum", "0"}, "", "sub/foo.txt", map[string]string{"sum": `0,\d{1,4}`}},
		{"5 sum later", "sub/foo.txt", []string{"-sum", "z,d"}, "", "sub/foo.txt", map[string]string{"sum": "z,d"}},
		{"7 a link", "sub/lnk", nil, "v02.post.sub.lnk", "sub/lnk", map[string]string{"link": "foo.txt", "parts": "", "mtime": "", "mode": "",
			"sum": "L,eac76c976516d4234d4777c8c0a5cab984eb604c06290962debcd0f4aecc124147f6747b0551b478ecab26e2b54a3916cc9c261f5b9bcc9e44f375f17850270a"}},
		{"8 odd characters", "sub/a b#c*.txt", nil, "v02.post.sub.a%20b%23c*.txt", "sub/a%20b%23c*.txt", nil},
		{"10 dots", "dir.with.dots/v1.2.txt", nil, "v02.post.dir.with.dots.v1.2.txt", "dir.with.dots/v1.2.txt", nil},
		{"11 a long topic", deep, nil, "-", deep, nil},
		{"13 flow and rename", "sub/foo.txt", []string{"-header", "flow=exp13", "-rename", "/x/y/"}, "", "sub/foo.txt",
			map[string]string{"flow": "exp13", "rename": "/x/y/foo.txt"}},
		{"14 strip", "sub/foo.txt", []string{"-strip", "1"}, "", "sub/foo.txt", map[string]string{"rename": "/foo.txt"}},
		{"19 exactly the threshold", "s50", []string{"-blocksize", "0", "-sum", "0"}, "", "s50", map[string]string{"parts": "1,52428800,1,0,0"}},
		{"22 a removal", "sub/ren.txt", nil, "v02.post.sub.ren.txt", "sub/ren.txt", map[string]string{"parts": "",
			"sum": "R,b1aa381f42cb706bc1e9fcc84e4b13a49f3df943ce4dcb9a61b5e5b2c5d7ab04af55e34eee4e1872d3493f8bcf21224146bc0ce44f9ff76df000eff8316fc566"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"-pb", url, "-px", exchange, "-pbu", "http://h.example/", "-pbd", h.path("base"), "-to", "DD"}
			h.run(0, "", "sr_post", append(append(args, c.args...), "-p", c.path)...)
			w := next(t, got)
			if c.topic != "" && c.topic != "-" && w.RoutingKey != c.topic {
				t.Errorf("topic %q, not %q", w.RoutingKey, c.topic)
			}
			if len(w.RoutingKey) > 253 || !utf8.ValidString(w.RoutingKey) {
				t.Errorf("topic of %d bytes: %q", len(w.RoutingKey), w.RoutingKey)
			}
			if w.fields[1] != "http://h.example/" || strings.TrimPrefix(w.fields[2], "/") != c.rel {
				t.Errorf("first line %q", w.Body)
			}
			w.expect(t, c.headers)
		})
	}
}

// 16: without a base directory the path of a local file is absolute.
func TestInteropPostLocal(t *testing.T) { onBothBrokers(t, interopPostLocal) }

func interopPostLocal(t *testing.T, url string) {
	h := newHost(t)
	makeBase(t, h)
	exchange := fresh("xs_guest")
	got := rawCapture(t, url, exchange)
	h.run(0, "", "sr_post", "-pb", url, "-px", exchange, "-pbu", "file:", "-p", h.path("base/sub/foo.txt"))
	if w := next(t, got); w.fields[1] != "file:" || w.fields[2] != h.path("base/sub/foo.txt") {
		t.Errorf("first line %q", w.Body)
	}
}

// 17 and 19: a file in blocks, each with the sum of its bytes.
func TestInteropPostBlocks(t *testing.T) { onBothBrokers(t, interopPostBlocks) }

func interopPostBlocks(t *testing.T, url string) {
	h := newHost(t)
	makeBase(t, h)
	exchange := fresh("xs_guest")
	got := rawCapture(t, url, exchange)
	post := func(args ...string) {
		h.run(0, "", "sr_post", append([]string{"-pb", url, "-px", exchange, "-pbu", "http://h.example/", "-pbd", h.path("base")}, args...)...)
	}
	post("-blocksize", "100", "-p", "p250.dat")
	hundred, fifty := "d,8adc5937e635f6c9af646f0b23560fae", "d,1e2d1a8f03accd4907d668b183c2f9f0"
	for n, sum := range []string{hundred, hundred, fifty} {
		next(t, got).expect(t, map[string]string{"parts": fmt.Sprintf("i,100,3,50,%d", n), "sum": sum})
	}
	post("-blocksize", "0", "-sum", "0", "-p", "s60")
	for n := range 3 {
		next(t, got).expect(t, map[string]string{"parts": fmt.Sprintf("i,20971520,3,0,%d", n)})
	}
}

// 20, 22, 23, 25: what sr_watch announces.
func TestInteropWatch(t *testing.T) { onBothBrokers(t, interopWatch) }

func interopWatch(t *testing.T, url string) {
	h := newHost(t)
	makeBase(t, h)
	exchange := fresh("xs_guest")
	got := rawCapture(t, url, exchange)
	watch := func(args ...string) *running {
		w := h.start("sr_watch", append([]string{"-pb", url, "-px", exchange, "-pbu", "http://h.example/", "-pbd", h.path("base"),
			"-pos", "off", "-p", h.path("base")}, args...)...)
		w.await("watching")
		return w
	}
	w := watch("-sleep", "1")
	// created and appended to before the pause is over: one announcement, of the whole
	h.write("base/grows", "one")
	f, err := os.OpenFile(h.path("base/grows"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString("two")
	must(t, err)
	must(t, f.Close())
	next(t, got).expect(t, map[string]string{"parts": "1,6,1,0,0"})
	w.stop()

	must(t, os.MkdirAll(h.path("base/D"), 0o755))
	w = watch()
	appear := func(name, text string) { // at once: without a pause, a file being written may be announced twice
		h.write("appear", text)
		must(t, os.Rename(h.path("appear"), h.path("base", name)))
	}
	appear("D/in.txt", "at once")
	if a := next(t, got); filepath.Base(a.fields[2]) != "in.txt" {
		t.Errorf("first line %q", a.Body)
	}
	appear("ren.txt", "x")
	next(t, got)
	must(t, os.Remove(h.path("base/ren.txt")))
	next(t, got).expect(t, map[string]string{"sum": "R,b1aa381f42cb706b.*"})
	w.stop()

	w = watch("-events", "create")
	must(t, os.Remove(h.path("base/D/in.txt")))
	must(t, os.Symlink("x", h.path("base/lnk")))
	appear("last", "x")
	if a := next(t, got); filepath.Base(a.fields[2]) != "last" {
		t.Errorf("first line %q", a.Body)
	}
	w.stop()
}
