package test

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"srpump/pump/broker"
)

// A shovel makes v03 of v02, and another one v02 again: nothing is lost that both carry, on either engine.
func TestTranslation(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h, conn := newHost(t), connect(t, url)
		in, middle, out := fresh("xs_guest"), fresh("xs_guest"), fresh("xs_guest")
		as03, back := captureFrom(t, conn, middle), captureFrom(t, conn, out)
		must(t, conn.DeclareExchange(t.Context(), broker.Exchange{Name: in}))
		there := h.start("sr_shovel", "-b", url, "-exchange", in, "-subtopic", "#", "-pe", middle, "-post_topic_prefix", "v03.post",
			"-queue_name", fresh("q_guest_there"), "-state_dir", h.path("there"))
		again := h.start("sr_shovel", "-b", url, "-exchange", middle, "-topic_prefix", "v03.post", "-subtopic", "#", "-pe", out,
			"-post_topic_prefix", "v02.post", "-queue_name", fresh("q_guest_again"), "-state_dir", h.path("again"))
		there.await("consuming")
		again.await("consuming")
		headers := hello("source", "SRC", "x_unknown", "keep", "mtime", "20200102030405.25", "oldname", "was", "mode", "644")
		publish(t, conn, broker.Publishing{Exchange: in, Key: "v02.post.a b", Headers: headers, Body: []byte("20261121000009.10 http://h.example/ a%20b/\u00e9%23 \n")})
		waitFor(t, "both forms", func() bool { return as03.len() == 1 && back.len() == 1 })
		there.stop()
		again.stop()
		delete(headers, "sum") // they have fields of their own
		delete(headers, "parts")
		for i, a := range append(as03.all(), back.all()...) {
			prefix := []string{"v03.post.", "v02.post."}[i]
			if !strings.HasPrefix(a.Topic, prefix) || a.Time.String() != "20261121000009.10" || a.Base != "http://h.example/" || a.Path != "a b/\u00e9#" ||
				a.Sum.String() != helloSum || a.Size() != 12 {
				t.Errorf("%s: %+v", a.Topic, a)
			}
			for k, v := range headers {
				if a.Headers[k] != v {
					t.Errorf("%s: header %s is %v, was %v", a.Topic, k, a.Headers[k], v)
				}
			}
		}
	})
}

// A file that came with its announcement onto a full disk: said, kept for later with the announcement,
// and installed once there is room, without a fetch.
func TestCarriedOntoFullDisk(t *testing.T) {
	h := newHost(t)
	must(t, os.Mkdir(h.path("dst"), 0o755))
	err := syscall.Mount("tmpfs", h.path("dst"), "tmpfs", 0, "size=1m")
	if errors.Is(err, syscall.EPERM) {
		t.Skip("no right to mount a small disk")
	}
	must(t, err)
	t.Cleanup(func() { _ = syscall.Unmount(h.path("dst"), syscall.MNT_DETACH) })
	r := newReceiver(t, h, "sqlite://"+h.path("pump.db"), "-topic_prefix", "v03", "-subtopic", "#", "-attempts", "1")
	for _, step := range [][2]string{{"one", `fetched path=\S*/dst/one`}, {"two", `retry path=\S*/dst/two .*no space left`}} {
		publish(t, r.conn, broker.Publishing{Exchange: r.exchange, Key: "v03.x", Body: carrying(t, step[0], strings.Repeat(step[0]+"\n", 200_000))})
		r.await(step[1])
	}
	if got := present(t, h.path("dst")); len(got) != 1 {
		t.Errorf("on the full disk: %q", got)
	}
	must(t, os.Remove(h.path("dst/one")))
	r.await(`fetched path=\S*/dst/two`)
	r.stop()
}

// carrying is a v03 announcement that carries a file which can be fetched nowhere.
func carrying(t testing.TB, name, content string) []byte {
	sum := md5.Sum([]byte(content))
	body, err := json.Marshal(map[string]any{"pubTime": "20261121T000000.5", "baseUrl": "http://127.0.0.1:1/", "relPath": name, "size": len(content),
		"identity": map[string]string{"method": "md5", "value": base64.StdEncoding.EncodeToString(sum[:])},
		"content":  map[string]string{"encoding": "utf-8", "value": content}})
	must(t, err)
	return body
}
