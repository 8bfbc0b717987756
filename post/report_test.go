package post

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// The vector of the Python tools, and back.
func TestReportVector(t *testing.T) {
	body := "20261121000000.1 http://127.0.0.1:18099/ /sub/foo.txt 201 localhost guest 0.007089"
	a, err := DecodeV02("v02.report.sub", map[string]any{"sum": "d,6f5902ac237024bdd0c176cb93063dc4", "message": "Downloaded"}, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if *a.Report != (Report{201, "localhost", "guest", 7089 * time.Microsecond}) || a.Path != "/sub/foo.txt" || a.Header(HeaderMessage) != "Downloaded" {
		t.Errorf("%+v %+v", a, a.Report)
	}
	m, err := EncodeV02(a)
	if err != nil || string(m.Body) != body+" \n" || m.Topic != "v02.report.sub" || m.Headers["message"] != "Downloaded" {
		t.Errorf("%+v %v", m, err)
	}
}

// A report says of which announcement it is; a blank in a name does not shift its fields, and
// where a peer left one it is still understood.
func TestReported(t *testing.T) {
	a := &Announcement{Topic: "v02.post.d.a%20b", Time: At(time.Unix(1700000000, 0)), Base: "http://h/", Path: "d/a b", Sum: OfName("a b"),
		Headers: map[string]any{"source": "SRC"}}
	r := a.Reported(Report{Code: 304, Host: "my host", Elapsed: time.Second}, strings.Repeat("ü", 200))
	m, err := EncodeV02(r)
	if err != nil || string(m.Body) != "20231114221320.00 http://h/ d/a%20b 304 my%20host - 1.000000 \n" || m.Topic != "v02.report.d.a%20b" {
		t.Errorf("%q %q %v", m.Topic, m.Body, err)
	}
	if text := r.Header(HeaderMessage); len(text) > MaxHeader || len(m.Dropped) > 0 || a.Header(HeaderMessage) != "" || a.Report != nil {
		t.Errorf("%q %v %+v", text, m.Dropped, a)
	}
	shifted, err := DecodeV02("v02.log.d", nil, []byte("20231114221320.0 http://h/ d/a b 304 host user 1.0"))
	if err != nil || shifted.Path != "d/a b" || shifted.Report.Code != 304 {
		t.Errorf("%+v %v", shifted, err)
	}
}

func TestReportTopic(t *testing.T) {
	for topic, want := range map[string]string{
		"v02.post": "v02.report", "v02.post.a.post": "v02.report.a.post", "v03.post.a": "v03.report.a", "xyz": "v02.report.xyz", "": "v02.report",
	} {
		if got := ReportTopic(topic); got != want || !IsReportTopic(got) {
			t.Errorf("%q: %q, not %q", topic, got, want)
		}
	}
	for _, topic := range []string{"v02.post.report", "v02.post", "v02", "report"} {
		if IsReportTopic(topic) {
			t.Errorf("%q is no report", topic)
		}
	}
}

func TestMalformedReports(t *testing.T) {
	for _, tail := range []string{"", "201", "201 host user", "x host user 1", "99 host user 1", "201 host user NaN", "201 host user 1e300", "201 host user x"} {
		if a, err := DecodeV02("v02.report.x", nil, []byte("20231114221320.0 http://h/ x "+tail)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %+v %v", tail, a, err)
		}
	}
}
