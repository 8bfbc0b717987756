package test

import (
	"fmt"
	"regexp"
	"testing"

	"srpump/pump/broker"
)

// The report of a download, as the Python tools publish it: its topic, its line, its text.
func TestReportOfDownload(t *testing.T) {
	onBothBrokers(t, func(t *testing.T, url string) {
		h, conn := newHost(t), connect(t, url)
		s := newHostileServer(t)
		in, reports := fresh("xs_guest"), fresh("xs_guest")
		got := captureFrom(t, conn, reports)
		must(t, conn.DeclareExchange(t.Context(), broker.Exchange{Name: in}))
		sub := h.start("sr_subscribe", "-b", url, "-exchange", in, "-subtopic", "#", "-report_exchange", reports, "-directory", h.path("out"))
		reader := h.start("sr_report", "-b", url, "-exchange", reports, "-subtopic", "#")
		sub.await("consuming")
		reader.await("consuming")
		publish(t, conn, broker.Publishing{Exchange: in, Key: "v02.post.sub", Body: []byte("20261121000000.1 " + s.URL + "/ /sub/foo.txt"),
			Headers: map[string]any{"sum": "d,6f5902ac237024bdd0c176cb93063dc4", "parts": "1,12,1,0,0"}})
		reader.await(`report code=201 text=Downloaded path=/sub/foo.txt`)
		sub.stop()
		reader.stop()
		waitFor(t, "the report", func() bool { return got.len() == 1 })
		a := got.all()[0]
		line := fmt.Sprintf("%s %s %s %s", a.Time, a.Base, a.Path, a.Report)
		want := regexp.MustCompile(`^20261121000000\.1 ` + regexp.QuoteMeta(s.URL) + `/ /sub/foo\.txt 201 \S+ (guest|-) \d+\.\d{6}$`)
		if a.Topic != "v02.report.sub" || !want.MatchString(line) || a.Header("message") != "Downloaded" || a.Sum.Value != "6f5902ac237024bdd0c176cb93063dc4" {
			t.Errorf("%s %q %+v", a.Topic, line, a)
		}
	})
}
