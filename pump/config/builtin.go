package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Builtin is a hook that needs no program, under the name of the plugin of v02 that did the same
// (sr_hooks(7), BUILT IN).
type Builtin struct {
	Name   string
	Points []string // options it works at; named with plugin it works at all of them
	// Also are options that may name it as well; it works at Points nevertheless.
	Also    []string
	Options []Option // of its own; nothing else knows them
	Needs   []string // options of which one must be set
	Help    string
}

// HookName is what the line of a hook calls a plugin: v02 found it with and without .py.
func HookName(line string) string { return strings.TrimSuffix(strings.ToLower(line), ".py") }

// FindBuiltin is the hook a line names, if it is one that is built in.
func FindBuiltin(line string) (Builtin, bool) {
	name := HookName(line)
	all := Builtins()
	i := slices.IndexFunc(all, func(b Builtin) bool { return b.Name == name })
	if i < 0 {
		return Builtin{}, false
	}
	return all[i], true
}

// At are the points a hook works at when the option named names it.
func (b *Builtin) At(option string) ([]string, error) {
	switch {
	case slices.Contains(b.Points, option):
		return []string{option}, nil
	case option == "plugin" || slices.Contains(b.Also, option):
		return b.Points, nil
	}
	return nil, fmt.Errorf("%s works at %s", b.Name, strings.Join(b.Points, " and "))
}

// Read gives what the options of a hook are set to, from Config.Unknown.
func (b *Builtin) Read(unknown map[string][]string) (Values, error) {
	v := Values{index: indexOf(b.Options), set: make(map[string]setting), unset: make([]setting, len(b.Options))}
	for i := range b.Options {
		o := &b.Options[i]
		v.unset[i] = o.defaultSetting(0)
		if err := v.take(o, unknown[o.Name]); err != nil {
			return v, fmt.Errorf("option %q: %w", o.Name, err)
		}
	}
	set := func(name string) bool { return len(unknown[name]) > 0 }
	if len(b.Needs) > 0 && !slices.ContainsFunc(b.Needs, set) {
		return v, fmt.Errorf("%s needs the option %s", b.Name, strings.Join(b.Needs, " or "))
	}
	return v, nil
}

// take sets an option to its lines. A list has an item for each, as it stands.
func (v *Values) take(o *Option, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	p := parsed{value: slices.Clone(lines), text: strings.Join(lines, " ")}
	if o.Kind == KindString { // all words of a command
		p = parsed{value: lines[len(lines)-1], text: lines[len(lines)-1]}
	} else if o.Kind != KindList {
		var err error
		if p, err = o.parse(strings.Fields(lines[len(lines)-1])); err != nil {
			return err
		}
	}
	v.set[o.Name] = setting{parsed: p}
	return nil
}

// isBuiltinOption reports whether a hook that is built in has an option of this name.
func isBuiltinOption(name string) bool {
	for _, b := range Builtins() {
		if slices.ContainsFunc(b.Options, func(o Option) bool { return o.Name == name }) {
			return true
		}
	}
	return false
}

// settleBuiltins looks at the options nothing else knows, in the light of the hooks that are used.
func (p *parser) settleBuiltins() {
	used := p.usedBuiltins()
	if len(used) == 0 {
		return
	}
	var rows []Option
	for _, b := range used {
		rows = append(rows, b.Options...)
	}
	options := indexOf(rows)
	p.problems = slices.DeleteFunc(p.problems, func(q Problem) bool {
		_, known := options.at[q.Option]
		return q.unknown && known
	})
	for i := range p.problems {
		q := &p.problems[i]
		if near := options.nearest(q.Option); q.unknown && near != "" {
			q.unknown, q.Severity, q.Hint = false, Error, fmt.Sprintf("did you mean %q?", near)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		b := used[name]
		if _, err := b.Read(p.unknown); err != nil {
			p.problems = append(p.problems, Problem{File: p.file, Option: name, Text: err.Error(),
				Severity: Error, Hint: "what it takes is in sr_hooks(7)", hook: true})
		}
	}
}

// usedBuiltins are the hooks the configuration names, by name.
func (p *parser) usedBuiltins() map[string]Builtin {
	used := make(map[string]Builtin)
	for _, option := range HookOptions() {
		for _, line := range slices.Concat(p.values.List(option), p.added[option]) {
			if b, ok := FindBuiltin(line); ok {
				used[b.Name] = b
			}
		}
	}
	return used
}
