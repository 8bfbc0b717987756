package config

import (
	"fmt"
	"slices"
	"time"
)

// CommandLine is the origin, and the file of a problem, of what the command
// line says.
const CommandLine = "command line"

// OriginDefault is the origin of what nobody set.
const OriginDefault = "default"

// setting is one value with its provenance.
type setting struct {
	parsed
	origin  string
	origins []string // of the items of a list to which lines add
}

// Values is what all options are set to, for one preset. The getters panic
// for a name the table does not have or a kind the option is not of: that is
// a mistake of the program, not of its user.
type Values struct {
	preset Preset
	index  *index
	set    map[string]setting
	unset  []setting // the default of each row, parsed once: flows ask for every file
}

func newValues(preset Preset) Values {
	v := Values{preset: preset, index: newIndex(), set: make(map[string]setting)}
	v.unset = make([]setting, len(v.index.rows))
	for i := range v.index.rows {
		v.unset[i] = v.index.rows[i].defaultSetting(preset)
	}
	return v
}

// Defaults returns the values of a preset for which nothing was configured.
func Defaults(preset Preset) Values { return newValues(preset) }

// Format prints the name of the preset only, because URLs among the values
// may hold passwords.
func (v Values) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "values of %s", v.preset.Program()) }

// Bool returns a KindBool option.
func (v Values) Bool(name string) bool { return v.get(name, KindBool).value.(bool) }

// Int returns a KindInt option.
func (v Values) Int(name string) int { return v.get(name, KindInt).value.(int) }

// Size returns a KindSize option, in bytes.
func (v Values) Size(name string) int64 { return v.get(name, KindSize).value.(int64) }

// Duration returns a KindDuration option; none and off are 0.
func (v Values) Duration(name string) time.Duration {
	return v.get(name, KindDuration).value.(time.Duration)
}

// Octal returns a KindOctal option: permission bits up to 07777.
func (v Values) Octal(name string) uint32 { return v.get(name, KindOctal).value.(uint32) }

// String returns an option that is one word: KindString, KindChoice, KindURL
// (with its password, if it has one) or the last KindSubtopic. It is empty
// when there is neither a value nor a default.
func (v Values) String(name string) string {
	return v.get(name, KindString, KindChoice, KindURL, KindAddress, KindCommand, KindSubtopic).value.(string)
}

// List returns a copy of a KindList option.
func (v Values) List(name string) []string {
	return slices.Clone(v.get(name, KindList).value.([]string))
}

// Text returns any option as it could be written in a file, for people to
// read: passwords are masked.
func (v Values) Text(name string) string {
	s, _ := v.lookup(name)
	return RedactCommand(s.text)
}

// Origin says where the value comes from: "default", "command line" or
// file:line.
func (v Values) Origin(name string) string {
	s, _ := v.lookup(name)
	return s.origin
}

// Origins says where each item of a KindList option comes from, as Origin does.
func (v Values) Origins(name string) []string {
	s := v.get(name, KindList)
	if len(s.origins) > 0 {
		return slices.Clone(s.origins)
	}
	return slices.Repeat([]string{s.origin}, len(s.value.([]string)))
}

// Set reports whether anybody set the option, to whatever value.
func (v Values) Set(name string) bool {
	_, o := v.lookup(name)
	_, ok := v.set[o.Name]
	return ok
}

func (v Values) get(name string, kinds ...Kind) setting {
	s, o := v.lookup(name)
	if !slices.Contains(kinds, o.Kind) {
		panic(fmt.Sprintf("config: option %q is of another kind", name))
	}
	return s
}

func (v Values) lookup(name string) (setting, *Option) {
	i, ok := v.index.at[name]
	if !ok {
		panic(fmt.Sprintf("config: no option %q", name))
	}
	o := &v.index.rows[i]
	if s, ok := v.set[o.Name]; ok {
		return s, o
	}
	return v.unset[i], o
}

// defaultSetting panics when the table holds a default its own kind refuses.
func (o *Option) defaultSetting(p Preset) setting {
	text := o.DefaultFor(p)
	s := setting{parsed: parsed{text: text}, origin: OriginDefault}
	switch {
	case text == "" && o.Kind == KindList:
		s.value = []string(nil)
	case text == "":
		s.value = ""
	default:
		value, err := o.parse([]string{text})
		if err != nil {
			panic(fmt.Sprintf("config: default of %s: %v", o.Name, err))
		}
		s.parsed = value
	}
	return s
}
