package config

import (
	"fmt"
	"slices"
	"strings"
)

// doneAnyway knows the plugins that come with v02 and do what is done here
// without any: logging, keeping house, reading listings, and finding the local
// file of an announcement.
func doneAnyway(hook string) bool {
	switch strings.TrimSuffix(hook, ".py") {
	case "file_log", "hb_cache", "hb_log", "hb_memory", "hb_police_queues", "hb_retry", "hb_sanity",
		"html_page", "line_date", "line_mode", "log", "msg_2localfile", "msg_log", "msg_rawlog",
		"part_log", "post_log", "report_log":
		return true
	}
	return false
}

// checkHooks refuses what would silently not be run: a hook may be what keeps
// files away. plugin_missing decides in the end. An empty list takes back the
// lines above it, and what was said of them.
func (p *parser) checkHooks(o *Option, items []string) {
	if len(items) == 0 {
		p.problems = slices.DeleteFunc(p.problems, func(q Problem) bool { return q.hook && q.Option == o.Name })
		return
	}
	hook := items[0]
	if doneAnyway(hook) {
		return
	}
	what := "no hooks are run in this release"
	if strings.HasSuffix(hook, ".py") || !strings.Contains(hook, ":") {
		what = "plugins in Python are not run"
	}
	p.report(Problem{Option: o.Name, Severity: Error, hook: true,
		Text: fmt.Sprintf("option %q: cannot run %q: %s", o.Name, hook, what),
		Hint: "take the line out, or go on without it with plugin_missing ignore"})
}

// settleHooks makes warnings of what plugin_missing ignores.
func (p *parser) settleHooks() {
	if p.values.String("plugin_missing") != "ignore" {
		return
	}
	for i := range p.problems {
		if p.problems[i].hook {
			p.problems[i].Severity, p.problems[i].Hint = Warning, ""
		}
	}
}
