package pump

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"srpump/post"
	"srpump/pump/broker"
	"srpump/pump/config"
	"srpump/pump/hook"
)

// The codes of reports (sr_post(7), THE REPORT).
const (
	codeDone        = 201
	codeChanged     = 203
	codeNotModified = 304
	codeMalformed   = 417
	codeNotSent     = 497
	codeNotFetched  = 499
	codeNotHere     = 500
	codeGivenUp     = 503
)

// reportsWanted tells that there are reports: a pipe has nobody to report to, and there are no
// reports of reports.
func reportsWanted(c *config.Config, from endpoint) bool {
	return c.Values.Bool("report_back") && !from.isPipe() && c.Preset != config.Report
}

// openReports starts the reporter where reports are wanted. They go the way of what is published, never that of
// what is consumed: a broker in need stops reading from who publishes, and acknowledgements
// must not wait for that.
func (f *Flow) openReports(ctx context.Context) {
	if !reportsWanted(f.cfg, f.plan.from) {
		return
	}
	f.reports = newReporter(ctx, f.cfg, f.host, f.hooks.At(hook.OnReport), f.plan.from, func(ctx context.Context) (broker.Conn, error) {
		return f.host.open(ctx, f.plan.from, f.cfg)
	})
}

// report tells where the announcement came from what became of it.
func (f *Flow) report(j *job, code int, text string) {
	if f.reports != nil && j.a != nil && j.a.Report == nil {
		f.reports.add(j.a, j.began, code, text)
	}
}

// reportMalformed is about what could not be understood; all it has of its own is its topic.
func (f *Flow) reportMalformed(j *job, topic string, why error) {
	if f.reports == nil {
		return
	}
	a := &post.Announcement{Topic: topic, Time: post.At(f.host.Now()), Base: "-", Path: "-"}
	f.reports.add(a, j.began, codeMalformed, why.Error())
}

// reportInstalled is about a change made here, in the words living peers use.
func (f *Flow) reportInstalled(j *job, what string) {
	if j.sum != j.a.Sum && j.a.Sum.Verifiable() {
		f.report(j, codeChanged, "Non-Authoritative Information: transformed during download")
	}
	if what == "fetched" {
		switch {
		case f.cfg.Preset == config.Sender:
			what = "Delivered"
		case j.from.Local != "":
			what = "Copied"
		default:
			what = "Downloaded"
		}
	}
	f.report(j, codeDone, what)
}

// reportFailed is about a try that failed, whether another one follows or not.
func (f *Flow) reportFailed(j *job) {
	scheme, _, _ := strings.Cut(j.url(), ":")
	switch {
	case j.a.Sum.IsRemoval():
		f.report(j, codeNotHere, "remove failed")
	case j.a.Sum.IsLink():
		f.report(j, codeNotHere, "symlink failed")
	case f.cfg.Preset == config.Sender:
		f.report(j, codeNotSent, scheme+" delivery failed")
	default:
		f.report(j, codeNotFetched, scheme+" download failed")
	}
}

// errNoReport is an announcement of a file where reports are read.
var errNoReport = errors.New("not a report")

// showReport prints a report (sr_report(1)); what is none goes no further.
func (f *Flow) showReport(j *job) bool {
	r := j.a.Report
	if r == nil {
		f.giveUp(j, errNoReport)
		return false
	}
	f.host.Log.Info("report", "code", r.Code, "text", j.a.Header(post.HeaderMessage), "path", j.a.Path, "url", j.a.Base, "host", r.Host, "user", r.User,
		"elapsed", fmt.Sprintf("%.6f", r.Elapsed.Seconds()), "source", j.a.Header(post.HeaderSource), "announced", j.a.Time)
	return true
}
