package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"srpump/pump"
	"srpump/pump/config"
)

// errRejected is something explained that a configuration does not take.
var errRejected = exitStatus(ExitFailed)

// explain prints what a configuration would do with each URL, announcement or path behind its name.
// It fails when one of them is rejected or refused.
func (s *session) explain(ctx context.Context, args []string) error {
	configured := given(s.words, "config")
	if len(args) < 2 && !(configured && len(args) > 0) {
		return usagef("explain needs a configuration, and a URL, a path, an announcement or - behind it")
	}
	arg := s.option("config")
	if !configured {
		arg, args = args[0], args[1:]
	}
	if !s.loadConfig(s.words, arg) {
		return usageError{errSaid}
	}
	taken := true
	for _, what := range args {
		err := pump.Explain(ctx, s.cfg, s.host(), what, func(e *pump.Explanation) {
			s.printExplanation(e)
			taken = taken && e.Accepted && e.Refused == nil
		})
		if err != nil {
			return usageError{err}
		}
	}
	if !taken {
		return errRejected
	}
	return nil
}

// printExplanation prints an explanation, one thing a line: a word, and what it is about.
func (s *session) printExplanation(e *pump.Explanation) {
	row := func(word, text string) {
		if text != "" {
			s.sayf("%-10s %s", word, text)
		}
	}
	row("text", config.Redact(e.Text))
	row(verdict(e), s.because(e))
	row("fetch", e.Source)
	row("or", e.Second)
	row("suggested", e.Suggested)
	if st := e.Steps; st != nil {
		row("strip", st.Stripped)
		row("flatten", st.Flattened)
		row("filename", st.Named)
		row("mirror", st.Mirrored)
		row("directory", st.Directory)
		if st.Place != (pump.Place{}) {
			row("placed", st.Place.Full())
		}
	}
	row("delivered", e.Delivered)
	for _, line := range e.Hooks {
		row("hook", shown(line))
	}
	row("stage", e.Stage)
	if e.Refused != nil {
		row("refused", e.Refused.Error())
	}
	for _, p := range e.Posted {
		row("exchange", p.Exchange)
		row("topic", p.Topic)
		row("line", shown(p.Line))
		for _, k := range slices.Sorted(maps.Keys(p.Headers)) {
			row("header", fmt.Sprintf("%s=%v", k, p.Headers[k]))
		}
	}
}

func verdict(e *pump.Explanation) string {
	if e.Accepted {
		return "accepted"
	}
	return "rejected"
}

// because is the line that decided.
func (s *session) because(e *pump.Explanation) string {
	switch {
	case e.Events:
		return "by the option events: " + s.cfg.Values.Text("events")
	case e.Rule == "" && len(s.cfg.Rules) == 0:
		return "as there is no accept and no reject line"
	case e.Rule == "":
		return fmt.Sprintf("by accept_unmatch (%s), as no line matches", s.cfg.Values.Origin("accept_unmatch"))
	}
	for _, r := range s.cfg.Rules {
		if at(r.File, r.Line) == e.Rule {
			word := "reject"
			if r.Accept {
				word = "accept"
			}
			return fmt.Sprintf("by %s: %s %s", e.Rule, word, r.Pattern)
		}
	}
	return "by " + e.Rule
}
