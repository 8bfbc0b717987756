package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"srpump/pump/config"
)

// show prints what a configuration comes to: files, options with their origins, rules, bindings.
func (s *session) show(args []string) error {
	if len(args) > 0 && args[0] == "config" {
		args = args[1:]
	}
	usable := s.load(s.words, args)
	if s.cfg == nil || s.cfg.Path == "" && len(args) > 0 {
		return usageError{errSaid}
	}
	s.showFiles()
	s.showOptions(true)
	s.showRules()
	s.showBindings()
	s.showOptions(false)
	if !usable {
		return usageError{errSaid}
	}
	return nil
}

func (s *session) showFiles() {
	st := s.cfg.State()
	rows := [][]string{{"component", s.cfg.Preset.String()}, {"name", s.cfg.Name}}
	for _, f := range s.cfg.Files {
		rows = append(rows, []string{"read", f})
	}
	rows = append(rows, []string{"state", st.Dir()}, []string{"log", st.Log(1)})
	names, _ := filepath.Glob(filepath.Join(st.Dir(), "*.qname"))
	for _, n := range names {
		if kept, err := os.ReadFile(n); err == nil {
			rows = append(rows, []string{"queue", strings.TrimSpace(string(kept)) + " (" + n + ")"})
		}
	}
	s.table("FILES", rows)
}

// showOptions prints what somebody set, or what nobody did.
func (s *session) showOptions(set bool) {
	var rows [][]string
	v := s.cfg.Values
	for _, o := range config.Table() {
		if v.Set(o.Name) != set || !set && (!o.Applies(s.cfg.Preset) || o.NoEffect) || o.CommandOnly {
			continue
		}
		if o.Kind == config.KindRule || o.Kind == config.KindInclude || o.Kind == config.KindSubtopic {
			continue
		}
		rows = append(rows, []string{o.Name, shown(v.Text(o.Name)), v.Origin(o.Name)})
	}
	for _, name := range slices.Sorted(unknownNames(s.cfg)) {
		if set {
			rows = append(rows, []string{name, shown(strings.Join(s.cfg.Unknown[name], " ")), "unknown, kept for hooks"})
		}
	}
	title := "SET"
	if !set {
		title = "DEFAULTS"
	}
	s.table(title, rows)
}

func unknownNames(c *config.Config) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range c.Unknown {
			if !yield(name) {
				return
			}
		}
	}
}

// shown is a value for people: one that is nothing is a dash, passwords within are masked.
func shown(value string) string {
	if value == "" {
		return "-"
	}
	return config.RedactCommand(strings.Join(strings.Fields(value), " "))
}

// showRules prints the rules in the order they are asked, with the placement each has.
func (s *session) showRules() {
	var rows [][]string
	for i, r := range s.cfg.Rules {
		verb, to := "reject", ""
		if r.Accept {
			verb, to = "accept", placed(r.Capture, r.FileOption)
		}
		rows = append(rows, []string{strconv.Itoa(i + 1), verb, r.Pattern, to, at(r.File, r.Line)})
	}
	rest := "reject"
	if s.cfg.AcceptsUnmatched() {
		rest = "accept"
	}
	rows = append(rows, []string{"-", rest, "what no rule matches", placed(s.cfg.Final, ""), "accept_unmatch"})
	s.table("RULES", rows)
}

// placed is a placement as option lines.
func placed(c config.Capture, fileOption string) string {
	var out []string
	add := func(name, value string) {
		if value != "" {
			out = append(out, name+" "+value)
		}
	}
	add("directory", c.Directory)
	if c.Mirror {
		add("mirror", "on")
	}
	if c.Strip != "0" {
		add("strip", c.Strip)
	}
	if c.Flatten != "/" {
		add("flatten", c.Flatten)
	}
	add("filename", c.Filename)
	add("as", fileOption)
	return strings.Join(out, ", ")
}

func (s *session) showBindings() {
	var rows [][]string
	if s.cfg.Preset&(config.Post|config.Watch|config.Poll) == 0 {
		for _, b := range s.cfg.Bindings {
			rows = append(rows, []string{b.Exchange, b.Key(), at(b.File, b.Line)})
		}
	}
	s.table("BINDINGS", rows)
}

func at(file string, line int) string {
	switch {
	case file == "":
		return config.OriginDefault
	case line == 0:
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// table prints rows below a title, their cells in columns; without rows nothing.
func (s *session) table(title string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	s.sayf("%s", title)
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			width[i] = max(width[i], min(len(cell), maxColumn))
		}
	}
	for _, r := range rows {
		var b strings.Builder
		for i, cell := range r {
			fmt.Fprintf(&b, "  %-*s", width[i], cell)
		}
		s.sayf("%s", strings.TrimRight(b.String(), " "))
	}
}

// maxColumn keeps one long value from pushing all others aside.
const maxColumn = 48
