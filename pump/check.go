package pump

import (
	"cmp"
	"log/slog"
	"slices"

	"srpump/pump/config"
)

// posts are the commands that announce files; the others take announcements in.
const posts = config.Post | config.Watch | config.Poll

// Check returns what is wrong with a configuration beyond what reading it has shown. Its errors are
// those a start would end with, found by the same code; its warnings are what is allowed and
// probably not meant. Nothing is opened and nothing is written.
func Check(c *config.Config, h *Host) []config.Problem {
	k := &check{c: c, h: h.quiet()}
	k.order()
	if c.Preset&(config.Audit|config.Serve|config.Spool) != 0 {
		return k.problems
	}
	k.problems = append(k.problems, refusals(c, k.start())...)
	k.unasked()
	k.secrets()
	k.subtopics()
	k.rules()
	k.values()
	k.places()
	return k.problems
}

// quiet is the same host for who only looks, and logs nothing.
func (h *Host) quiet() *Host {
	return &Host{Log: slog.New(slog.DiscardHandler), Stdin: h.Stdin, Stdout: h.Stdout, Cwd: h.Cwd, Database: h.Database, Version: h.Version, Now: h.Now}
}

// A check is one look at one configuration.
type check struct {
	c        *config.Config
	h        *Host
	problems []config.Problem
	flow     *Flow   // of those that start
	poller   *poller // the same
}

// start does what a start does before it opens anything.
func (k *check) start() (err error) {
	if k.c.Preset&posts == 0 {
		k.flow, err = NewFlow(k.c, k.h)
		return err
	}
	p, err := NewPoster(k.c, k.h)
	switch {
	case err != nil:
		return err
	case k.c.Preset == config.Poll:
		if k.poller, err = p.newPoller(); err == nil {
			err = k.poller.from.Close()
		}
		return err
	case k.c.Preset == config.Watch: // sr_post is told on its command line
		return p.CheckPaths()
	}
	return nil
}

func (k *check) warn(file string, line int, text, hint string) {
	k.problems = append(k.problems, config.Problem{File: file, Line: line, Text: text, Hint: hint, Severity: config.Warning})
}

// warnOption warns at the line an option was set at, or about the configuration as a whole.
func (k *check) warnOption(option, text, hint string) {
	file, line := place(k.c, option)
	if file == "" {
		file = k.c.Path
	}
	k.warn(file, line, text, hint)
}

// SortProblems orders problems as their lines were read, errors first, and takes out what is said twice
// and what is merely odd about a line that is wrong.
func SortProblems(c *config.Config, problems []config.Problem) []config.Problem {
	slices.SortStableFunc(problems, func(a, b config.Problem) int {
		return cmp.Or(
			cmp.Compare(slices.Index(c.Files, a.File), slices.Index(c.Files, b.File)),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Text, b.Text))
	})
	var out []config.Problem
	for _, p := range problems {
		if n := len(out); n > 0 && out[n-1].File == p.File && out[n-1].Line == p.Line {
			last := out[n-1]
			if last.Text == p.Text || p.Line > 0 && last.Severity == config.Error && p.Severity == config.Warning {
				continue
			}
		}
		out = append(out, p)
	}
	return out
}
