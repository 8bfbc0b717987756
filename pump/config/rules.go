package config

import (
	"fmt"
	"strings"
)

// Capture is the state of the placement options at one line.
type Capture struct {
	Directory string // with late ${...} left in; empty means the directory the command was started in
	Filename  string
	Mirror    bool
	Strip     string // a number or a pattern
	Flatten   string
}

// Rule is an accept or reject line. Patterns are not compiled here.
type Rule struct {
	Accept     bool
	Pattern    string
	FileOption string // the second word of an accept, such as DESTFN=name
	Capture           // the placement options in force at the line
	File       string // for messages, as in Problem
	Line       int
}

// Binding is one subtopic line with the exchange and the prefix in force at it
// ("Each subtopic line appends one binding").
type Binding struct {
	Exchange string
	Prefix   string
	Subtopic string // as written
	File     string // for messages; empty for the binding nobody asked for
	Line     int
}

// Key returns the binding key: prefix, dot and subtopic, in which a blank is
// written %20 and # is written %23 unless it is a whole word.
func (b Binding) Key() string {
	key := strings.ReplaceAll(b.Subtopic, " ", "%20")
	if b.Prefix != "" {
		key = b.Prefix + "." + key
	}
	words := strings.Split(key, ".")
	for i, w := range words {
		if w != "#" {
			words[i] = strings.ReplaceAll(w, "#", "%23")
		}
	}
	return strings.Join(words, ".")
}

func (p *parser) addRule(o *Option, words []string) {
	if len(words) == 0 {
		p.fail(o.Name, fmt.Sprintf("option %q: needs a pattern", o.Name), "")
		return
	}
	if len(words) > 2 {
		p.warn(o.Name, fmt.Sprintf("option %q takes a pattern and at most one word more", o.Name), "write a blank in a pattern as \\s")
	}
	r := Rule{
		Accept: o.Name == "accept", Pattern: words[0], Capture: p.capture(),
		File: p.file, Line: p.line,
	}
	if len(words) > 1 && r.Accept {
		r.FileOption = words[1]
	}
	p.rules = append(p.rules, r)
}

func (p *parser) capture() Capture {
	return Capture{
		Directory: p.values.String("directory"),
		Filename:  p.values.String("filename"),
		Mirror:    p.values.Bool("mirror"),
		Strip:     p.values.String("strip"),
		Flatten:   p.values.String("flatten"),
	}
}

// addBinding serves both readers of subtopic: consumers, for whom each line is
// a binding, and posters, for whom the last line is the topic.
func (p *parser) addBinding(o *Option, words []string) {
	if len(words) == 0 {
		p.fail(o.Name, fmt.Sprintf("option %q: needs a value", o.Name), "")
		return
	}
	if len(words) > 1 {
		p.warn(o.Name, fmt.Sprintf("option %q takes one word, so %q and what follows is ignored", o.Name, words[1]), "write one subtopic line for each")
	}
	p.assignParsed(o, parsed{value: words[0], text: words[0]})
	switch strings.ToLower(words[0]) {
	case "none", "off", "false", "0":
		p.bindings, p.unbound = nil, true
		return
	}
	p.unbound = false
	p.bindings = append(p.bindings, p.bindingTo(words[0]))
}

func (p *parser) bindingTo(subtopic string) Binding {
	return Binding{
		Exchange: p.values.String("exchange"), Prefix: p.values.String("topic_prefix"),
		Subtopic: subtopic, File: p.file, Line: p.line,
	}
}

// finalBindings adds the one of everything when no line said anything.
func (p *parser) finalBindings() []Binding {
	if len(p.bindings) > 0 || p.unbound {
		return p.bindings
	}
	b := p.bindingTo("#")
	b.File, b.Line = "", 0
	return []Binding{b}
}
