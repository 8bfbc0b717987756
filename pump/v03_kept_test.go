package pump

import (
	"os"
	"testing"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
)

// What was announced in v03 is reported in v03, with the same code and text.
func TestV03Reports(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/d/x": "x"})
	got := h.capture("xreport")
	_, stop := h.run(config.Subscribe, "-topic_prefix", "v03", "-directory", h.dir+"/out", "-mirror", "on", "-attempts", "1")
	h.publish("xpublic", broker.Publishing{Key: "v03.d", Body: json03(web.URL, "d/x", identity03("x"), `"source":"SRC"`)},
		broker.Publishing{Key: "v03.post.d", Body: json03(web.URL, "d/missing", identity03("x"))},
		broker.Publishing{Key: "v03.post.d", Body: []byte(`{"pubTime":null}`)})
	h.until("all is reported", func() bool { return len(codes(got())) >= 3 })
	stop()
	for _, a := range got() {
		switch topic := "v03.report.d"; {
		case a.Topic != topic || a.Report == nil || a.Report.Host != "test.host" || a.Report.Elapsed < 0:
			t.Errorf("%s %+v", a.Topic, a)
		case a.Path == "d/x" && (a.Report.Code != 201 || a.Header(post.HeaderMessage) != "Downloaded" || a.Header("source") != "SRC" || a.Size() != 1):
			t.Errorf("%+v %+v", a.Report, a)
		case a.Path == "d/missing" && a.Report.Code != 499:
			t.Errorf("%+v %+v", a.Report, a)
		}
	}
}

// A file that came with its announcement and could not be installed waits with it on the disk: after a
// restart it is installed without a fetch.
func TestCarriedContentIsRetried(t *testing.T) {
	h := newHouse(t)
	args := []string{"-topic_prefix", "v03", "-directory", h.dir + "/out", "-mirror", "on"}
	h.write("out/d", "in the way")
	f, stop := h.run(config.Subscribe, args...)
	h.publish("xpublic", broker.Publishing{Key: "v03.d", Body: json03("http://127.0.0.1:1/", "d/x", identity03("\xff\x00"), `"content":{"encoding":"base64","value":"/wA="}`)})
	h.until("it waits", func() bool { return f.Counters.Retried.Load() > 0 })
	stop()
	if err := os.Remove(h.dir + "/out/d"); err != nil {
		t.Fatal(err)
	}
	f, stop = h.run(config.Subscribe, args...)
	h.until("it is installed", func() bool { return f.Counters.Fetched.Load() == 1 })
	stop()
	if s := h.content("out/d/x"); s != "\xff\x00" {
		t.Errorf("it holds %q", s)
	}
}
