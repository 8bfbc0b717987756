package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// parser takes option lines, whether from a file or the command line, in the
// order of the package comment.
type parser struct {
	env       Env
	name      string // of the configuration
	component string // directory of the component's configurations

	values   Values
	rules    []Rule
	bindings []Binding
	unbound  bool // "subtopic none" was the last word
	unknown  map[string][]string
	environ  map[string]string
	problems []Problem
	lineList []Line

	fromCommandLine bool
	inOrder         bool                // between the first and the last word of the command line
	pinned          map[string]setting  // scalars of the command line
	below           map[string]setting  // what files say of pinned ones
	added           map[string][]string // list items of the command line

	file  string
	line  int
	stack []string // files being read, the including ones first
	read  []string // files read, in order
}

// feed takes one line: an option and the words behind it.
func (p *parser) feed(words []string) {
	o, ok := p.values.index.find(words[0])
	if !ok {
		p.feedUnknown(bareName(words[0]), words[1:])
		return
	}
	if o.CommandOnly && !p.fromCommandLine {
		p.fail(o.Name, fmt.Sprintf("option %q is for the command line only", o.Name), "")
		return
	}
	if p.fromCommandLine && !o.Applies(p.values.preset) {
		p.warn(o.Name, fmt.Sprintf("option %q has no effect on %s", o.Name, p.values.preset.Program()), "")
	}
	p.said(o)
	values := p.expandAll(o, words[1:])
	switch o.Kind {
	case KindRule:
		p.addRule(o, values)
	case KindSubtopic:
		p.addBinding(o, values)
	case KindInclude:
		p.include(o, values)
	default:
		p.assign(o, values)
	}
}

func (p *parser) expandAll(o *Option, words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		value, unset := p.expand(w, o.lateName())
		if unset != "" && o.Kind != KindRule {
			p.warn(o.Name, fmt.Sprintf("option %q: ${%s} is not set and stays as it is", o.Name, unset), "")
		}
		out[i] = value
	}
	return out
}

func (p *parser) assign(o *Option, words []string) {
	value, err := o.parse(words)
	if err != nil {
		p.fail(o.Name, fmt.Sprintf("option %q: %v", o.Name, err), "")
		return
	}
	if value.doubt != "" {
		p.warn(o.Name, fmt.Sprintf("option %q %s", o.Name, value.doubt), "")
	}
	if o.Name == "declare" && p.declareVariable(value.value.([]string)) {
		return
	}
	if o.Multi {
		p.extend(o, value)
		return
	}
	p.assignParsed(o, value)
}

func (p *parser) assignParsed(o *Option, value parsed) {
	s := setting{parsed: value, origin: p.origin()}
	if p.fromCommandLine {
		p.pinned[o.Name] = s
	} else if _, pinned := p.pinned[o.Name]; pinned && !p.inOrder {
		p.below[o.Name] = s
		return
	}
	p.values.set[o.Name] = s
}

// extend adds to a list; "none" empties it.
func (p *parser) extend(o *Option, value parsed) {
	items := value.value.([]string)
	if o.namesHooks() {
		p.checkHooks(o, items)
	}
	if p.fromCommandLine {
		p.added[o.Name] = append(p.added[o.Name], items...)
		return
	}
	p.append(o, items, p.origin())
}

func (p *parser) append(o *Option, items []string, origin string) {
	before := p.values.set[o.Name]
	old, _ := before.value.([]string)
	if len(items) == 0 {
		old, before.origins = nil, nil
	}
	list := slices.Concat(old, items)
	p.values.set[o.Name] = setting{parsed{value: list, text: strings.Join(list, " ")}, origin,
		slices.Concat(before.origins, slices.Repeat([]string{origin}, len(items)))}
}

// declareVariable takes "declare env NAME=value". Other declarations are a
// list for the commands of an administrator.
func (p *parser) declareVariable(words []string) bool {
	if len(words) == 0 || words[0] != "env" {
		return false
	}
	name, value := "", ""
	if len(words) == 2 {
		name, value, _ = strings.Cut(words[1], "=")
	}
	if name == "" {
		p.fail("declare", "declare env takes NAME=value", "")
		return true
	}
	p.environ[name] = value
	return true
}

// feedUnknown refuses what looks like a slip of the finger and keeps the rest
// for hooks.
func (p *parser) feedUnknown(name string, words []string) {
	var late func(string) bool
	if isBuiltinOption(name) {
		late = HookVariable
	}
	if _, known := p.unknown[name]; !known {
		text, hint := p.values.index.explainUnknown(name)
		if hint != "" && late == nil || name == "" {
			p.fail(name, text, hint)
			return
		}
		p.report(Problem{Option: name, Text: text, Hint: "it is kept for hooks as SR_OPT_" + name, Severity: Warning, unknown: true})
	}
	for i, w := range words {
		words[i], _ = p.expand(w, late)
	}
	value := strings.Join(words, " ")
	if len(words) == 0 {
		value = "true"
	}
	p.unknown[name] = append(p.unknown[name], value)
}

// explainUnknown returns a hint only for what is surely a mistake.
func (x *index) explainUnknown(name string) (text, hint string) {
	text = fmt.Sprintf("unknown option %q", name)
	if option, _, ok := strings.Cut(name, "="); ok {
		if _, known := x.find(option); known {
			return text, fmt.Sprintf("in a file, write a blank instead of = after %q", option)
		}
		name = option
		text = fmt.Sprintf("unknown option %q", name)
	}
	if near := x.nearest(name); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return text, hint
}

// pin finds what the command line sets, so that files read before it is their
// turn know already what they cannot change.
func (p *parser) pin(args [][]string) {
	scout := newParser(p.env, p.values.preset, p.name)
	scout.fromCommandLine = true
	for _, words := range args {
		if o, ok := p.values.index.find(words[0]); ok && o.Kind != KindInclude {
			scout.feed(words)
		}
	}
	p.pinned = scout.pinned
	maps.Copy(p.values.set, p.pinned)
}

// commandLine takes the command line in its order, on top of what the shared
// files said.
func (p *parser) commandLine(args [][]string) {
	for name := range p.pinned {
		delete(p.values.set, name)
	}
	maps.Copy(p.values.set, p.below)
	p.file, p.line, p.fromCommandLine, p.inOrder = CommandLine, 0, true, true
	for _, words := range args {
		p.feed(words)
	}
	p.file, p.fromCommandLine, p.inOrder = "", false, false
	maps.Copy(p.values.set, p.pinned)
}

func (p *parser) origin() string {
	if p.fromCommandLine {
		return CommandLine
	}
	return fmt.Sprintf("%s:%d", p.file, p.line)
}

func (p *parser) fail(option, text, hint string) {
	p.report(Problem{Option: option, Text: text, Hint: hint, Severity: Error})
}

func (p *parser) warn(option, text, hint string) {
	p.report(Problem{Option: option, Text: text, Hint: hint, Severity: Warning})
}

func (p *parser) report(problem Problem) {
	problem.File, problem.Line = p.file, p.line
	p.problems = append(p.problems, problem)
}
