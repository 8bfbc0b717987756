package pump

import (
	"errors"
	"path"
	"slices"
	"strings"

	"srpump/post"
	"srpump/pump/config"
)

// A polledDir is a directory of an accept line, with the rules for the names in it.
type polledDir struct {
	text  string // as configured, dates in ${...}
	rules *Rules
}

// polledDirs are the distinct directories of the accept lines, in their order, and with
// accept_unmatch the one in force at the end. The rules of a directory are those
// written under it, and every reject above the first directory line.
func polledDirs(c *config.Config) ([]polledDir, error) {
	var texts []string
	add := func(text string) {
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	for _, r := range c.Rules {
		if r.Accept {
			add(r.Directory)
		}
	}
	if c.AcceptsUnmatched() {
		add(c.Final.Directory)
	}
	if len(texts) == 0 {
		return nil, errors.New("cannot poll: no accept line names what to announce")
	}
	var out []polledDir
	var errs []error
	for _, text := range texts {
		var own []config.Rule
		for _, r := range c.Rules {
			if r.Directory == text || !r.Accept && r.Directory == "" {
				own = append(own, r)
			}
		}
		rules, err := NewRules(own, c.Final, c.AcceptsUnmatched() && text == c.Final.Directory)
		errs = append(errs, err)
		out = append(out, polledDir{text, rules})
	}
	return out, errors.Join(errs...)
}

// today is the directory with its dates filled in, "" for the destination itself. One slash
// in front is kept: some servers tell it from none.
func (d polledDir) today(h *Host) string {
	dates := Placement{Now: h.Now}
	text := dates.substitute(d.text, new(post.Announcement), nil)
	if text = path.Clean(text); text == "." || text == "/" {
		return ""
	}
	return text
}

// renameOf is the header rename a rule asks for with rename=path, or otherwise.
func renameOf(c Choice, otherwise string) string {
	for _, option := range []string{c.FileOption, c.Capture.Filename} {
		if to, ok := strings.CutPrefix(option, "rename="); ok {
			return to
		}
	}
	return otherwise
}
