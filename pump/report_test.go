package pump

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
)

// codes are code, text and path of reports, sorted, each once: a retry reports again.
func codes(as []*post.Announcement) (out []string) {
	for _, a := range as {
		out = append(out, fmt.Sprint(a.Report.Code, " ", a.Header(post.HeaderMessage), " ", a.Path))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Each step reports what became of the file, on the exchange of reports.
func TestReports(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/new": "new", "/changed": "as it is"})
	got := h.capture("xreport")
	_, stop := h.run(config.Subscribe, "-directory", h.dir+"/out", "-suppress_duplicates", "on", "-attempts", "1", "-pb", "sqlite://"+h.db,
		"-post_exchange", "xcopy", "-post_base_url", "http://me/")
	removal := announced(web.URL+"/", "gone", "", 1700000000)
	removal.Sum = post.OfRemoval("gone")
	h.post("xpublic", announced(web.URL+"/", "new", "new", 1700000000), announced(web.URL+"/", "changed", "as it was", 1700000000),
		announced(web.URL+"/", "missing", "x", 1700000000), removal)
	h.publish("xpublic", broker.Publishing{Key: "v02.post.bad", Body: []byte("nospace")})
	want := []string{"201 Downloaded changed", "201 Downloaded new", "201 Published changed", "201 Published gone", "201 Published new", "201 removed gone",
		"203 Non-Authoritative Information: transformed during download changed", "499 http download failed missing"}
	h.until("all is reported", func() bool { return len(codes(got())) == len(want)+1 })
	h.post("xpublic", announced(web.URL+"/", "new", "new", 1700000000))
	h.until("the second is reported", func() bool { return len(codes(got())) == len(want)+2 })
	stop()
	all := codes(got())
	if i := slices.IndexFunc(all, func(s string) bool { return strings.HasPrefix(s, "417 malformed announcement") }); i < 0 {
		t.Errorf("no report of what is malformed: %q", all)
	} else {
		all = slices.Delete(all, i, i+1)
	}
	if want = append(want, "304 Not modified1 new"); !sameSorted(all, want) {
		t.Errorf("got  %q\nwant %q", all, want)
	}
	if a := got()[0]; a.Report.Host != "test.host" || a.Topic[:11] != "v02.report." || a.Report.Elapsed < 0 {
		t.Errorf("%+v %+v", a, a.Report)
	}
	if strings.Contains(h.log.String(), "reached no one") && !strings.Contains(h.log.String(), "exchange=xcopy") {
		t.Error("reports nobody reads are pointed out")
	}
}

func sameSorted(a, b []string) bool {
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// A file that is here already is reported so; reports nobody is bound for are no news, and
// report_back off ends them.
func TestReportsOfUnchanged(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/x": "x"})
	f, stop := h.run(config.Subscribe, "-directory", h.dir+"/out")
	h.post("xpublic", announced(web.URL+"/", "x", "x", 1700000000))
	h.until("it is fetched", func() bool { return f.Counters.Fetched.Load() == 1 })
	stop()
	if strings.Contains(h.log.String(), "reached no one") || strings.Contains(h.log.String(), "reports dropped") {
		t.Error("a report nobody reads is pointed out")
	}
	got := h.capture("xreport")
	_, stop = h.run(config.Subscribe, "-directory", h.dir+"/out")
	h.post("xpublic", announced(web.URL+"/", "x", "x", 1700000000))
	h.until("it is reported", func() bool { return len(got()) == 1 })
	stop()
	if all := codes(got()); all[0] != "304 not modified3 x" {
		t.Errorf("%q", all)
	}
	f, stop = h.run(config.Subscribe, "-directory", h.dir+"/out", "-report_back", "off")
	h.post("xpublic", announced(web.URL+"/", "x", "x", 1700000000))
	h.until("it is seen", func() bool { return f.Counters.Unchanged.Load() == 1 })
	stop()
	if f.reports != nil || len(got()) != 1 {
		t.Errorf("%d reports", len(got()))
	}
}

// A clean stop publishes every report made before it.
func TestReportsOutliveStop(t *testing.T) {
	h := newHouse(t)
	h.capture("xout")
	got := h.capture("xreport")
	f, stop := h.run(config.Winnow, "-exchange", "xin", "-post_exchange", "xout", "-report_back", "on")
	const n = 500
	var all []*post.Announcement
	for i := range n {
		all = append(all, announced("http://h/", fmt.Sprint(i), "x", 1700000000))
	}
	h.post("xin", all...)
	h.until("all are announced", func() bool { return f.Counters.Announced.Load() == n })
	stop()
	h.until("all are reported", func() bool { return len(got()) == n })
	if strings.Contains(h.log.String(), "reports dropped") {
		t.Error("some were dropped")
	}
}

// A report that cannot be published is said once and harms nothing.
func TestReportsRefused(t *testing.T) {
	h := newHouse(t)
	web := h.web(map[string]string{"/a": "a", "/b": "b"})
	f, stop := h.run(config.Subscribe, "-directory", h.dir+"/out", "-report_exchange", "xmissing", "-declare_exchange", "off")
	h.post("xpublic", announced(web.URL+"/", "a", "a", 1700000000), announced(web.URL+"/", "b", "b", 1700000000))
	h.until("both are fetched", func() bool { return f.Counters.Fetched.Load() == 2 })
	h.until("it is said", func() bool { return strings.Contains(h.log.String(), "reports dropped") })
	stop()
	if n := strings.Count(h.log.String(), `msg="reports dropped" exchange=xmissing error=`); n != 1 {
		t.Errorf("said %d times", n)
	}
}

// The users a pump works as report to xreport, all others to their own exchange.
func TestReportExchange(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct {
		user, want string
		args       []string
	}{
		{"alice", "xs_alice", nil}, {"", "xreport", nil}, {"feeder", "xreport", []string{"-manager", "amqp://feeder:x@h/"}},
		{"root", "xreport", []string{"-admin", "amqp://root:x@h/"}}, {"alice", "xs_alice", []string{"-manager", "amqp://feeder:x@h/"}},
		{"alice", "xmine", []string{"-report_exchange", "xmine"}},
	} {
		if got := reportExchange(h.config(config.Subscribe, c.args...), endpoint{user: c.user}); got != c.want {
			t.Errorf("%s %v: %s, not %s", c.user, c.args, got, c.want)
		}
	}
}

// sr_report(1): reads the exchange of reports, under both names of old and new, shows them, and
// passes them on as they were; what is no report is kept aside.
func TestReadReports(t *testing.T) {
	h := newHouse(t)
	got := h.capture("xall")
	f, stop := h.run(config.Report, "-topic_prefix", "v02", "-post_broker", "sqlite://"+h.db, "-post_exchange", "xall")
	body := "20261121000000.1 http://h/ a%20b 201 there alice 0.5"
	h.publish("xreport", broker.Publishing{Key: "v02.report.x", Headers: map[string]any{"message": "Downloaded", "sum": "d,0"}, Body: []byte(body)},
		broker.Publishing{Key: "v02.log.x", Body: []byte(body)}, broker.Publishing{Key: "v02.post.x", Body: []byte("20261121000000.1 http://h/ x")})
	h.until("all are read", func() bool { return len(got()) == 2 && f.Counters.GivenUp.Load() == 1 })
	stop()
	if a := got()[0]; a.Path != "a b" || a.Report.User != "alice" || a.Headers["from_cluster"] != nil || a.Topic != "v02.report.x" {
		t.Errorf("%+v", a)
	}
	if log := h.log.String(); !strings.Contains(log, "msg=report code=201 text=Downloaded path=\"a b\" url=http://h/ host=there user=alice elapsed=0.500000") {
		t.Error("it is not shown")
	}
	if f.reports != nil {
		t.Error("reports of reports")
	}
}
