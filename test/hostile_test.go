package test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/pump/broker"
	"srpump/test/rabbit"
)

// A letter is what a test sends: a message as no poster of ours would make it.
type letter struct {
	name    string
	body    string
	headers map[string]any
	why     string // pattern of the reason in the dead-letter file; empty: it is to arrive
	arrives string // then: below the directory
}

// md5 of "hello world\n".
const helloSum = "d,6f5902ac237024bdd0c176cb93063dc4"

func hello(extra ...string) map[string]any {
	h := map[string]any{"sum": helloSum, "parts": "1,12,1,0,0"}
	for i := 0; i+1 < len(extra); i += 2 {
		h[extra[i]] = extra[i+1]
	}
	return h
}

// A receiver is a running sr_subscribe and what it reads from.
type receiver struct {
	*running
	h        *host
	conn     broker.Conn
	exchange string
	queue    string
}

// newReceiver starts sr_subscribe with mirror on and the directory dst.
func newReceiver(t testing.TB, h *host, url string, args ...string) *receiver {
	t.Helper()
	r := &receiver{h: h, conn: connect(t, url), exchange: fresh("xs_guest"), queue: fresh("q_guest")}
	must(t, r.conn.DeclareExchange(t.Context(), broker.Exchange{Name: r.exchange}))
	all := append([]string{"-b", url, "-exchange", r.exchange, "-queue_name", r.queue, "-mirror", "-directory", h.path("dst")}, args...)
	r.running = h.start("sr_subscribe", all...)
	r.await("consuming")
	return r
}

func (r *receiver) send(t testing.TB, body string, headers map[string]any) {
	t.Helper()
	publish(t, r.conn, broker.Publishing{Exchange: r.exchange, Key: "v02.post.x", Body: []byte(body), Headers: headers})
}

// deadLetters are the reasons in the dead-letter file, in order.
func (r *receiver) deadLetters(t testing.TB) (whys []string) {
	t.Helper()
	b, err := os.ReadFile(r.h.path("home/.cache/sarra/subscribe/default/dead_letter.jsonl"))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		var d struct{ Why string }
		must(t, json.Unmarshal([]byte(line), &d))
		whys = append(whys, d.Why)
	}
	return whys
}

// present lists all below a directory, directories with a slash behind them.
func present(t testing.TB, dir string) (names []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, p); err == nil && rel != "." && !d.IsDir() {
			names = append(names, rel)
		}
		return err
	}))
	return names
}

// letters are the bad input a broker may hold; base is a server that has hello.txt everywhere.
func letters(base string) []letter {
	line := func(rel string) string { return "20261121000000.5 " + base + "/ " + rel + " \n" }
	long := strings.Repeat("n", 256)
	deep := strings.Repeat("dddddddd/", 500)
	return []letter{
		{name: "no body", body: "", why: "0 of 3 fields"},
		{name: "one field", body: "nospace", why: "1 of 3 fields"},
		{name: "two fields", body: "20261121000000.5 http://h/", why: "2 of 3 fields"},
		{name: "not UTF-8", body: line("\xff\xfe\x80"), why: "not UTF-8"},
		{name: "10 MB", body: strings.Repeat("x", 10<<20), why: "10485760 bytes"},
		{name: "no date", body: "yesterday " + base + "/ f", why: "yesterday"},
		{name: "impossible date", body: "20261399000000.5 " + base + "/ f", why: "20261399"},
		{name: "NUL in the path", body: line("a\x00b"), why: "NUL"},
		{name: "parts of letters", body: line("f"), headers: hello("parts", "i,a,b,c,d"), why: "parts"},
		{name: "parts of six", body: line("f"), headers: hello("parts", "1,2,3,4,5,6"), why: "parts"},
		{name: "negative parts", body: line("f"), headers: hello("parts", "1,-12,1,0,0"), why: "parts"},
		{name: "parts beyond numbers", body: line("f"), headers: hello("parts", "i,9223372036854775807,9223372036854775807,0,0"), why: "parts"},
		{name: "a block of none", body: line("f"), headers: hello("parts", "i,10,2,0,7"), why: "parts"},
		{name: "sum of nothing", body: line("f"), headers: map[string]any{"sum": int32(7)}, why: "sum"},
		{name: "no URL", body: "20261121000000.5 nowhere f", why: "no URL"},
		{name: "out by dots", body: line("../../../../etc/evil"), headers: hello(), why: "outside"},
		{name: "out by dots within", body: line("a/../../../evil"), headers: hello(), why: "outside"},
		{name: "out by rename", body: line("f"), headers: hello("rename", "../../evil"), why: "outside"},
		{name: "out by rename of dots", body: line("f"), headers: hello("rename", ".."), why: "outside"},
		{name: "a file of this host", body: "20261121000000.5 file: /etc/passwd", headers: map[string]any{"sum": "z,d"}, why: "file of this host"},
		{name: "another scheme", body: "20261121000000.5 gopher://h/ f", headers: hello(), why: "gopher"},
		{name: "a long name", body: line(long), headers: hello(), why: "name too long|too long"},
		{name: "a long path", body: line(deep + "f"), headers: hello(), why: "too long"},
		{name: "a link to nothing", body: line("l0"), headers: map[string]any{"sum": "L,00"}, why: "link"},

		{name: "an absolute path is below the directory", body: line("/etc/passwd"), headers: hello(), arrives: "etc/passwd"},
		{name: "an unknown sum method", body: line("unknown"), headers: hello("sum", "Q,12"), arrives: "unknown"},
		{name: "a line end in the name", body: line("new%0Aline"), headers: hello(), arrives: "new\nline"},
		{name: "a dollar is a character", body: line("${HOME}/$(id)"), headers: hello("rename", "${HOME}/$(id)/`id`", "source", "${HOME}"), arrives: "${HOME}/$(id)/`id`"},
		{name: "no header", body: line("bare"), arrives: "bare"},
		{name: "no line end", body: strings.TrimSpace(line("nolf")), headers: hello(), arrives: "nolf"},
		{name: "more fields", body: strings.TrimSpace(line("more")) + " 201 host user 0.5", headers: hello(), arrives: "more"},
	}
}

// Whatever a broker holds: poison is logged, kept aside and acknowledged, what follows arrives,
// and nothing is written outside the directory.
func TestPoison(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h, server := newHost(t), newHostileServer(t)
		local := strings.HasPrefix(url, "sqlite:")
		r := newReceiver(t, h, url, "-retry", "off", "-attempts", "1")
		var want []string
		var arrives []string
		for _, l := range letters(server.URL) {
			if local && l.name == "a file of this host" {
				continue // a local broker speaks for this host
			}
			r.send(t, l.body, l.headers)
			if l.why != "" {
				want = append(want, l.why)
			} else {
				arrives = append(arrives, l.arrives)
			}
		}
		for _, name := range arrives {
			waitFor(t, fmt.Sprintf("%q", name), func() bool {
				b, err := os.ReadFile(h.path("dst", name))
				return err == nil && string(b) == "hello world\n"
			}, r.text)
		}
		waitFor(t, "all dead letters", func() bool { return len(r.deadLetters(t)) >= len(want) }, r.text,
			func() string { return strings.Join(r.deadLetters(t), "\n") })
		whys := strings.Join(r.deadLetters(t), "\n")
		for _, w := range want {
			if !regexp.MustCompile(w).MatchString(whys) {
				t.Errorf("no dead letter says %q", w)
			}
		}
		if n := len(r.deadLetters(t)); n != len(want) {
			t.Errorf("%d dead letters for %d poisons:\n%s", n, len(want), whys)
		}
		if got := present(t, h.path("dst")); len(got) != len(arrives) {
			t.Errorf("%d files in the directory, not %d: %q", len(got), len(arrives), got)
		}
		r.stop(1)
		if n, err := r.conn.DeclareQueue(t.Context(), broker.Queue{Name: r.queue, Passive: true}); err != nil || n != 0 {
			t.Errorf("%d announcements are still in the queue (%v)", n, err)
		}
		for _, name := range present(t, h.dir) {
			if !strings.HasPrefix(name, "dst/") && !strings.HasPrefix(name, "home/.cache/sarra/") && !strings.HasPrefix(name, "sr_") {
				t.Errorf("written outside: %q", name)
			}
		}
	})
}

// A link that leaves the directory, then a file through it: the link is only text, the file
// is refused.
func TestSymlinkThenFile(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h, server := newHost(t), newHostileServer(t)
		must(t, os.Mkdir(h.path("outside"), 0o755))
		r := newReceiver(t, h, url, "-retry", "off", "-attempts", "1")
		for i, target := range []string{h.path("outside"), "../outside"} {
			r.send(t, fmt.Sprintf("20261121000000.5 %s/ out%d \n", server.URL, i), map[string]any{"sum": "L,00", "link": target})
			r.send(t, fmt.Sprintf("20261121000001.5 %s/ out%d/evil \n", server.URL, i), hello())
			r.send(t, fmt.Sprintf("20261121000002.5 %s/ out%d/gone \n", server.URL, i), map[string]any{"sum": "R,00"})
		}
		r.send(t, "20261121000003.5 "+server.URL+"/ good \n", hello())
		r.await(`fetched path=\S*/dst/good`)
		waitFor(t, "the dead letters", func() bool { return len(r.deadLetters(t)) >= 2 }, r.text)
		r.stop(1)
		if got := present(t, h.path("outside")); len(got) > 0 {
			t.Errorf("written outside: %q\n%s", got, r.text())
		}
	})
}

// Headers of every AMQP type neither stop a message nor get lost on the way through sr_winnow.
func TestHeadersOfEveryType(t *testing.T) {
	url := rabbit.Start(t).URL("guest")
	h, server := newHost(t), newHostileServer(t)
	in, out := fresh("xs_guest"), fresh("xs_guest")
	conn := connect(t, url)
	captureFrom(t, conn, in)
	w := h.start("sr_winnow", "-b", url, "-exchange", in, "-pb", url, "-post_exchange", out, "-queue_name", fresh("q_guest"))
	w.await("consuming")
	got := rawCapture(t, url, out)
	headers := amqp.Table{"sum": helloSum, "parts": "1,12,1,0,0", "t_bool": true, "t_byte": byte(7), "t_int8": int8(-7), "t_int16": int16(-300),
		"t_int32": int32(-70000), "t_int64": int64(-1 << 40), "t_float32": float32(1.5), "t_float64": 2.5, "t_decimal": amqp.Decimal{Scale: 2, Value: 314},
		"t_time": time.Unix(1700000000, 0).UTC(), "t_bytes": []byte{0, 255}, "t_void": nil, "t_table": amqp.Table{"a": "b", "n": int32(1)},
		"t_array": []any{"a", int32(1), amqp.Table{"x": true}}, "t_string": "text"}
	rawPublish(t, url, in, "v02.post.a", "20261121000000.5 "+server.URL+"/ typed \n", headers)
	d := <-got
	for k, v := range headers {
		if fmt.Sprintf("%T %v", d.Headers[k], d.Headers[k]) != fmt.Sprintf("%T %v", v, v) {
			t.Errorf("header %s: %T %v became %T %v", k, v, v, d.Headers[k], d.Headers[k])
		}
	}
	r := newReceiver(t, h, url)
	rawPublish(t, url, r.exchange, "v02.post.a", "20261121000000.5 "+server.URL+"/ typed \n", headers)
	r.await(`fetched path=\S*/dst/typed`)
	r.stop()
	w.stop()
}
