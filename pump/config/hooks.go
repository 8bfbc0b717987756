package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// HookOptions are the options that name hooks, in the order of the manual.
func HookOptions() []string {
	var names []string
	for _, o := range hookRows() {
		if o.namesHooks() {
			names = append(names, o.Name)
		}
	}
	return names
}

// namesHooks tells the lists of hooks from the options about them. A line is one hook.
func (o *Option) namesHooks() bool { return o.Section == SectionHook && o.Kind == KindList }

// HookVariable reports whether ${name} in the line of a hook stands for something of each event, so that
// it is left as it is when the line is read (sr_hooks(7), CMD).
func HookVariable(name string) bool {
	switch name {
	case "event", "topic", "pubtime", "baseurl", "relpath", "new_dir", "new_file", "file", "url":
		return true
	}
	return strings.HasPrefix(name, "header.")
}

// DoneAnyway knows the plugins that come with v02 and do what is done here
// without any: logging, keeping house, reading listings, and finding the local
// file of an announcement.
func DoneAnyway(hook string) bool {
	return slices.Contains(doneAnyway(), HookName(hook))
}

func doneAnyway() []string {
	return []string{"file_log", "hb_cache", "hb_log", "hb_memory", "hb_police_queues", "hb_retry", "hb_sanity",
		"html_page", "line_date", "line_mode", "log", "msg_2localfile", "msg_log", "msg_rawlog",
		"part_log", "post_log", "report_log", "trace_on_stop"}
}

// pluginAdvice says what takes the place of a plugin of v02 that is not run; empty for others.
func pluginAdvice(hook string) string {
	switch name := HookName(hook); {
	case strings.HasPrefix(name, "poll_"):
		return "have sr_poll list what it can, or announce what a program of your own fetched with sr_post"
	case strings.HasPrefix(name, "file_email"):
		return "use on_file cmd: with a program that sends mail"
	case name == "exp_2mqtt":
		return "use on_post exec: with a program that publishes to MQTT"
	case name == "simulate":
		return "use the action explain, which says what would be done"
	case strings.HasPrefix(name, "download_"), strings.HasPrefix(name, "accel_"):
		return "use do_download cmd: with the program that fetches, such as cmd:curl -sfo ${file} ${url}"
	case strings.HasPrefix(name, "destfn_"):
		return "use destfn_script cmd: with a program that prints the name"
	}
	return ""
}

// isProgram reports whether a hook is a program, exec: or cmd:, perhaps for some schemes only.
func isProgram(hook string) bool {
	for _, prefix := range []string{"exec:", "cmd:"} {
		if strings.HasPrefix(hook, prefix) {
			return true
		}
	}
	first, rest, two := strings.Cut(hook, " ")
	return two && !strings.Contains(first, ":") && (strings.HasPrefix(rest, "exec:") || strings.HasPrefix(rest, "cmd:"))
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
	if DoneAnyway(hook) || isProgram(hook) {
		return
	}
	if b, ok := FindBuiltin(hook); ok {
		if _, err := b.At(o.Name); err != nil {
			p.report(Problem{Option: o.Name, Severity: Error, hook: true,
				Text: fmt.Sprintf("option %q: cannot run %q: %v", o.Name, hook, err)})
		}
		return
	}
	if near := nearestHook(hook); near != "" {
		p.report(Problem{Option: o.Name, Severity: Error, hook: true, Hint: fmt.Sprintf("did you mean %q?", near),
			Text: fmt.Sprintf("option %q: cannot run %q: there is no hook of that name", o.Name, RedactCommand(hook))})
		return
	}
	p.report(Problem{Option: o.Name, Severity: Error, hook: true,
		Text: fmt.Sprintf("option %q: cannot run %q: plugins in Python are not run", o.Name, RedactCommand(hook)),
		Hint: cmp.Or(pluginAdvice(hook), "use exec: or cmd: with a program of your own, see sr_hooks(7)") + ", or go on without it with plugin_missing ignore"})
}

// nearestHook is the hook a name was most likely meant to be, or "": one that is built in, or does what is done
// anyway.
func nearestHook(hook string) string {
	name := HookName(hook)
	known := doneAnyway()
	for _, b := range Builtins() {
		known = append(known, b.Name)
	}
	best, least := "", 3
	for _, k := range known {
		if d := distance(name, k); d <= allowedSlips(min(len(name), len(k))) && d < least {
			best, least = k, d
		}
	}
	return best
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
