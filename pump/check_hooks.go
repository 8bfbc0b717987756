package pump

import (
	"fmt"
	"path/filepath"
	"slices"

	"srpump/pump/config"
	"srpump/pump/hook"
	"srpump/pump/poll"
)

// unasked warns of hooks that are never asked: of events the command has none of, or not as it is configured. What
// stands in a file of all commands is for others.
func (k *check) unasked() {
	rows := config.Table()
	for _, option := range config.HookOptions() {
		i := slices.IndexFunc(rows, func(o config.Option) bool { return o.Name == option })
		why := k.silent(option)
		if !rows[i].Applies(k.c.Preset) {
			why = k.c.Preset.Program() + " has no such event"
		}
		if why == "" {
			continue
		}
		origins := k.c.Values.Origins(option)
		for i, line := range k.c.Values.List(option) {
			file, n := placeOf(origins[i])
			if file == config.CommandLine || k.forAll(file) || config.DoneAnyway(line) {
				continue
			}
			k.warn(file, n, fmt.Sprintf("option %q: %.80q is never asked: %s", option, config.RedactCommand(line), why), "sr_hooks(7), POINTS, says when each is asked")
		}
	}
}

// secrets warns of passwords in commands.
func (k *check) secrets() {
	tell := func(option, line, origin string) {
		if config.RedactCommand(line) != line {
			file, n := placeOf(origin)
			k.warn(file, n, fmt.Sprintf("option %q: there is a password in the command, which the list of processes shows to everybody", option),
				"have the program read it from a file of its own or from its environment")
		}
	}
	for _, option := range config.HookOptions() {
		origins := k.c.Values.Origins(option)
		for i, line := range k.c.Values.List(option) {
			tell(option, line, origins[i])
		}
	}
	tell("stage", k.c.Values.String("stage"), k.c.Values.Origin("stage"))
}

// forAll reports whether a file is one that every command reads.
func (k *check) forAll(file string) bool {
	return file != k.c.Path && slices.Contains([]string{"default.conf", "admin.conf"}, filepath.Base(file))
}

// silent says why no event of a point comes by, or nothing.
func (k *check) silent(option string) string {
	switch {
	case k.flow != nil:
		return k.silentInFlow(option)
	case k.poller != nil:
		return k.silentInPoll(option)
	}
	return ""
}

func (k *check) silentInFlow(option string) string {
	p := k.flow.plan
	switch option {
	case hook.OnPost:
		if !p.posting {
			return "nothing is announced without post_broker"
		}
	case hook.OnReport:
		if !reportsWanted(k.c, p.from) {
			return "no reports are made"
		}
	case hook.DoTask, hook.DoDownload, hook.DoGet, hook.OnData, hook.OnPart, hook.OnFile:
		switch {
		case p.there != nil:
			return "hooks deliver the files"
		case !p.files:
			return "nothing is fetched"
		}
	case hook.DestFn:
		if !p.files {
			return "nothing is fetched"
		}
	}
	return ""
}

func (k *check) silentInPoll(option string) string {
	_, byHook := k.poller.from.(*hookLister)
	_, pages := k.poller.from.(*poll.Web)
	switch {
	case option == hook.OnLine && !byHook:
		return "lines are those of a listing of do_poll, which lists nothing here"
	case option == hook.DoPoll && !byHook:
		return "the kind of URL of destination is listed without it"
	case option == hook.OnHTMLPage && !pages:
		return "destination has no pages"
	}
	return ""
}
