package pump

import (
	"fmt"
	"slices"

	"srpump/pump/config"
)

// inOrder are options that count for the lines below them, and may so be said again.
func inOrder(option string) bool {
	switch option {
	case "directory", "mirror", "strip", "flatten", "filename", "exchange", "topic_prefix":
		return true
	}
	return false
}

// order finds what stands in the wrong place, twice or in vain.
func (k *check) order() {
	rows := make(map[string]config.Option)
	for _, o := range config.Table() {
		rows[o.Name] = o
	}
	seen := make(map[string]config.Line)
	for i, l := range k.c.Lines {
		o := rows[l.Option]
		if l.File == config.CommandLine {
			continue
		}
		if !o.Applies(k.c.Preset) && k.own(l.File) {
			k.warn(l.File, l.Line, fmt.Sprintf("option %q has no effect on %s", l.Option, k.c.Preset.Program()), "")
			continue
		}
		if o.NoEffect && k.own(l.File) {
			k.warn(l.File, l.Line, fmt.Sprintf("option %q is accepted and does nothing here: %s", l.Option, o.Help), "")
			continue
		}
		switch {
		case inOrder(l.Option):
			k.inVain(i, l)
		case scalar(o):
			key := l.File + "\x00" + l.Option
			if before, ok := seen[key]; ok {
				k.warn(l.File, l.Line, fmt.Sprintf("option %q stands in line %d already, which has no effect", l.Option, before.Line), "remove one of them")
			}
			seen[key] = l
		}
	}
	k.boundTooEarly()
	k.placedTooEarly()
}

func scalar(o config.Option) bool {
	return !o.Multi && o.Kind != config.KindRule && o.Kind != config.KindInclude && o.Kind != config.KindSubtopic
}

// own reports whether a file is read for this component alone; shared ones hold options for others.
func (k *check) own(file string) bool { return slices.Contains(k.c.Files, file) && file == k.c.Path }

// inVain warns of a line nothing follows it could count for.
func (k *check) inVain(i int, l config.Line) {
	uses, what := []string{"accept"}, "it places"
	if l.Option == "exchange" || l.Option == "topic_prefix" {
		uses, what = []string{"subtopic"}, "it binds"
	}
	above, below := k.lines(uses[0], 0, i), k.lines(uses[0], i, len(k.c.Lines))
	if len(above) == 0 || len(below) > 0 || !k.own(l.File) || l.Option != "exchange" && l.Option != "topic_prefix" && k.c.AcceptsUnmatched() {
		return
	}
	last := above[len(above)-1]
	k.warn(l.File, l.Line, fmt.Sprintf("option %q has no effect: no %s line follows", l.Option, uses[0]),
		fmt.Sprintf("put it above the %s lines %s, such as line %d", uses[0], what, last.Line))
}

// lines are those of an option among a part of all.
func (k *check) lines(option string, from, to int) (out []config.Line) {
	for _, l := range k.c.Lines[from:to] {
		if l.Option == option {
			out = append(out, l)
		}
	}
	return out
}

// placedTooEarly warns of an accept above every directory line: it places files where the command is
// started.
func (k *check) placedTooEarly() {
	all := k.lines("directory", 0, len(k.c.Lines))
	if k.c.Preset&posts != 0 || k.c.Values.Bool("notify_only") || len(all) == 0 || !k.own(all[0].File) {
		return
	}
	for _, r := range k.c.Rules {
		if r.Accept && r.Directory == "" && r.File == all[0].File && r.Line < all[0].Line {
			k.warn(r.File, r.Line, fmt.Sprintf("accept places files where the command is started: the directory stands below it, in line %d", all[0].Line),
				"put directory above the accept lines it is for")
		}
	}
}

// boundTooEarly warns of a subtopic above every exchange line: it is bound to the default exchange.
func (k *check) boundTooEarly() {
	if k.c.Preset&posts != 0 {
		return
	}
	exchanges := k.lines("exchange", 0, len(k.c.Lines))
	if len(exchanges) == 0 || exchanges[0].File == config.CommandLine {
		return
	}
	for _, l := range k.c.Lines {
		if l == exchanges[0] {
			return
		}
		if l.Option == "subtopic" && l.File == exchanges[0].File {
			k.warn(l.File, l.Line, fmt.Sprintf("subtopic binds to the default exchange %s: the exchange stands below it, in line %d",
				config.Defaults(k.c.Preset).String("exchange"), exchanges[0].Line), "put exchange above the subtopic lines it is for")
		}
	}
}
