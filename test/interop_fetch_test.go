package test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"srpump/test/nginx"
)

// The forms in which the living peers announce one file: the Python one has no line end, the
// C one a blank before it and no leading slash; neither must end up in the name.
func TestInteropForms(t *testing.T) { onBothBrokers(t, interopForms) }

func interopForms(t *testing.T, url string) {
	h := newHost(t)
	h.write("src/sub/foo.txt", "hello world\n")
	base := nginx.Start(t, h.path("src"))
	for _, c := range []struct {
		name, body string
		headers    amqp.Table
		want       string
	}{
		{"python", "20261121000000.1 " + base + "/ /sub/foo.txt", nil, "sub/foo.txt"},
		{"c", "20261121000000.1 " + base + "/ sub/foo.txt \n", nil, "sub/foo.txt"},
		{"a line end at once", "20261121000000.1 " + base + "/ sub/foo.txt\n", nil, "sub/foo.txt"},
		{"no fraction", "20261121000000 " + base + "/ sub/foo.txt \n", nil, "sub/foo.txt"},
		{"no seconds", "202611210000 " + base + "/ sub/foo.txt \n", nil, "sub/foo.txt"},
		{"an exponent", "20261121000005.00135803e-05 " + base + "/ sub/foo.txt \n", nil, "sub/foo.txt"},
		{"no slash behind the host", "20261121000000.1 " + base + " sub/foo.txt \n", nil, "sub/foo.txt"},
		{"34 static URL", "20261121000000.1 " + base + "/sub/foo.txt NRPDS/GIF/ \n", nil, "NRPDS/GIF/foo.txt"},
		{"static URL and a name", "20261121000000.1 " + base + "/sub/foo.txt NRPDS/other.txt \n", nil, "NRPDS/other.txt"},
		{"a prefix without slash", "20261121000000.1 " + base + "/sub /foo.txt", nil, "foo.txt"},
		{"35 rename to a directory", "20261121000000.1 " + base + "/ sub/foo.txt \n", amqp.Table{"rename": "NURP/GIF/"}, "NURP/GIF/foo.txt"},
		{"rename to a name", "20261121000000.1 " + base + "/ sub/foo.txt \n", amqp.Table{"rename": "/x/y.txt"}, "x/y.txt"},
		{"parts of four fields", "20261121000000.1 " + base + "/ sub/foo.txt \n", amqp.Table{"parts": "1,12,0,0"}, "sub/foo.txt"},
		{"an unknown header", "20261121000000.1 " + base + "/ sub/foo.txt \n", amqp.Table{"x_unknown": "keep"}, "sub/foo.txt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := newHost(t)
			r := newReceiver(t, to, url)
			headers := amqp.Table{"sum": helloSum, "parts": "1,12,1,0,0", "mtime": "20200102030405", "mode": "600"}
			for k, v := range c.headers {
				headers[k] = v
			}
			rawPublish(t, url, r.exchange, "v02.post.sub", c.body, headers)
			r.await("fetched path=")
			info, err := os.Stat(to.path("dst", c.want))
			if err != nil {
				t.Fatalf("%v; there is: %q", err, present(t, to.path("dst")))
			}
			if info.Mode().Perm() != 0o600 || !info.ModTime().Equal(stamp) || info.Size() != 12 {
				t.Errorf("mode %v, time %v, size %d", info.Mode(), info.ModTime(), info.Size())
			}
			r.stop()
		})
	}
}

// 26 and 28: what is here already is not fetched again; 29: a wrong sum is announced with the
// true one; 37: what sr_sarra announces of its copy.
func TestInteropSarra(t *testing.T) { onBothBrokers(t, interopSarra) }

func interopSarra(t *testing.T, url string) {
	h := newHost(t)
	h.write("src/sub/foo.txt", "hello world\n")
	base := nginx.Start(t, h.path("src"))
	in, out := fresh("xs_guest"), fresh("xs_guest")
	rawCapture(t, url, in)
	got := rawCapture(t, url, out)
	s := h.start("sr_sarra", "-b", url, "-exchange", in, "-pb", url, "-px", out, "-queue_name", fresh("q_guest"),
		"-directory", h.path("dst")+"/${YYYYMMDD}/${SOURCE}", "-pbd", h.path("dst"), "-pbu", "http://me:8000/")
	s.await("consuming")
	headers := amqp.Table{"sum": helloSum, "parts": "1,12,1,0,0", "source": "SRC", "x_unknown": "keep", "from_cluster": "there"}
	rawPublish(t, url, in, "v02.post.sub", "20261121000009.1 "+base+"/ /sub/foo.txt", headers)
	today := time.Now().UTC().Format("20060102")
	w := next(t, got)
	if w.fields[0] != "20261121000009.1" || w.fields[1] != "http://me:8000/" || strings.TrimPrefix(w.fields[2], "/") != today+"/SRC/sub/foo.txt" {
		t.Errorf("first line %q", w.Body)
	}
	w.expect(t, map[string]string{"source": "SRC", "x_unknown": "keep", "from_cluster": "there", "sum": helloSum, "parts": "1,12,1,0,0"})

	rawPublish(t, url, in, "v02.post.sub", "20261121000010.1 "+base+"/ sub/foo.txt \n", headers)
	s.await("unchanged path=")

	h.write("src/sub/wrong.txt", "hello world\n")
	rawPublish(t, url, in, "v02.post.sub", "20261121000011.1 "+base+"/ sub/wrong.txt \n",
		amqp.Table{"sum": "d,00000000000000000000000000000000", "parts": "1,12,1,0,0", "source": "SRC"})
	next(t, got).expect(t, map[string]string{"sum": helloSum})

	h.write("src/sub/later.txt", "hello world\n")
	rawPublish(t, url, in, "v02.post.sub", "20261121000012.1 "+base+"/ sub/later.txt \n", amqp.Table{"sum": "z,d", "source": "SRC"})
	next(t, got).expect(t, map[string]string{"sum": helloSum, "parts": "1,12,1,0,0"})

	rawPublish(t, url, in, "v02.post.sub", "nospace", nil) // 32
	rawPublish(t, url, in, "v02.post.sub", "20261121000013.1 "+base+"/ sub/missing.txt", headers)
	s.await(`retry path=\S*/missing.txt`) // 31
	h.write("src/sub/missing.txt", "hello world\n")
	if w := next(t, got); filepath.Base(w.fields[2]) != "missing.txt" || w.fields[0] != "20261121000013.1" {
		t.Errorf("first line %q", w.Body)
	}
	s.stop(1)
}

// 38: the same sum and path once; another path is new, unless the basis says otherwise.
func TestInteropWinnow(t *testing.T) { onBothBrokers(t, interopWinnow) }

func interopWinnow(t *testing.T, url string) {
	for basis, want := range map[string]int{"path": 2, "data": 1, "name": 1} {
		t.Run(basis, func(t *testing.T) {
			h, in, out := newHost(t), fresh("xs_guest"), fresh("xs_guest")
			rawCapture(t, url, in)
			got := rawCapture(t, url, out)
			w := h.start("sr_winnow", "-b", url, "-exchange", in, "-pb", url, "-px", out, "-queue_name", fresh("q_guest"), "-sdb", basis)
			w.await("consuming")
			for _, rel := range []string{"/a/p", "/a/p", "b/p"} {
				rawPublish(t, url, in, "v02.post.a", "20261121000000.1 http://h/ "+rel, amqp.Table{"sum": helloSum, "parts": "1,12,1,0,0"})
			}
			rawPublish(t, url, in, "v02.post.a", "20261121000000.1 http://h/ end", amqp.Table{"sum": "d,00", "parts": "1,1,1,0,0"})
			n := 0
			for next(t, got).fields[2] != "end" {
				n++
			}
			if n != want {
				t.Errorf("%d passed, not %d", n, want)
			}
			w.stop()
		})
	}
}

// peerTree is what the living peers announced when they were recorded.
func peerTree() map[string]string {
	return map[string]string{
		"sub/foo.txt": "hello world\n", "sub/empty.dat": "", "sub/a b.txt": "blank\n", "sub/x#y.txt": "hash\n", "sub/100%.txt": "pct\n",
		"sub/s*r.txt": "star\n", "sub/p+q&r=s;t.txt": "plus\n", "sub/dir.with.dots/v1.2.3.tar.gz": "dots\n", "sub/.hidden": "h",
		"sub/dotfile": "x", "sub/t.tmp": "tmp", "sub/p250.dat": strings.Repeat("A", 250), "sub/p300.dat": strings.Repeat("B", 300), "é ü/ñ.txt": "ünï\n",
		"deep/" + strings.Repeat("d", 60) + "/" + strings.Repeat("e", 60) + "/" + strings.Repeat("f", 60) + "/" + strings.Repeat("g", 60) + "/leaf.txt": "deep\n",
	}
}

// Everything the living peers were recorded to announce with a sum of its bytes arrives, from
// the same tree behind nginx, byte for byte.
func TestInteropRecordedPeers(t *testing.T) { onBothBrokers(t, interopRecordedPeers) }

func interopRecordedPeers(t *testing.T, url string) {
	h := newHost(t)
	for name, content := range peerTree() {
		h.write("src/"+name, content)
	}
	base := nginx.Start(t, h.path("src"))
	for _, by := range []string{"python-v02 sum d", "python-v02 sum s", "python-v02 sum n", "python-v02 sum 0", "c-3.24 v02 sum d", "c-3.24 v02 sum s",
		"c-3.24 v02 sum 0", "python-v3 v02 md5", "python-v3 v03 md5", "c-3.24 v03 sum d"} {
		t.Run(by, func(t *testing.T) {
			to := newHost(t)
			r := newReceiver(t, to, url)
			n := 0
			for _, m := range recorded(t, by) {
				headers := amqp.Table{}
				for k, v := range m.Headers {
					headers[k] = v.Value
				}
				rawPublish(t, url, r.exchange, "v02.post.x", strings.ReplaceAll(m.Body, "http://h.example", base), headers)
				n++
			}
			if n == 0 {
				t.Fatal("nothing recorded")
			}
			for name, content := range peerTree() {
				waitFor(t, name, func() bool {
					b, err := os.ReadFile(to.path("dst", name))
					return err == nil && string(b) == content
				}, r.text)
			}
			if by == "python-v3 v02 md5" { // which says that there is a link, but not where it leads
				waitFor(t, "the link given up", func() bool { return r.says("a link without the header link") }, r.text)
				r.stop(1)
				return
			}
			waitFor(t, "the link", func() bool { to, err := os.Readlink(to.path("dst/sub/lnk")); return err == nil && to == "foo.txt" }, r.text)
			r.stop()
		})
	}
}

type recording struct {
	By, Topic, Body string
	Headers         map[string]struct{ Value any }
}

func recorded(t testing.TB, by string) (out []recording) {
	t.Helper()
	f, err := os.Open("../post/testdata/posts.jsonl")
	must(t, err)
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var m recording
		must(t, json.Unmarshal(sc.Bytes(), &m))
		if m.By == by {
			out = append(out, m)
		}
	}
	return out
}
