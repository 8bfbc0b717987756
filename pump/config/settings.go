package config

import (
	"path/filepath"
	"strings"
)

// Setting is what one option is set to, for people to read.
type Setting struct {
	Name     string
	Text     string // as it could be written in a file, passwords masked
	Origin   string // OriginDefault, CommandLine or file:line
	Set      bool   // somebody said so, to whatever value
	NoEffect bool   // nothing acts on it, here or for this preset
}

// Settings returns, in the order of the table, every option that has an effect
// on the preset and every other one that is set. Rules, subtopics and includes
// are no settings: see Config.Rules and Config.Bindings.
func (v Values) Settings() []Setting {
	var out []Setting
	for i := range v.index.rows {
		o := &v.index.rows[i]
		switch o.Kind {
		case KindRule, KindSubtopic, KindInclude:
			continue
		}
		s := Setting{Name: o.Name, Text: v.Text(o.Name), Origin: v.Origin(o.Name),
			Set: v.Set(o.Name), NoEffect: o.NoEffect || !o.Applies(v.preset)}
		if s.Set || !s.NoEffect && !o.CommandOnly {
			out = append(out, s)
		}
	}
	return out
}

// NoEffect returns the names of the options that are set and that nothing acts
// on. What the files shared by all components say to others does not count.
func (c *Config) NoEffect() []string {
	var out []string
	for _, s := range c.Values.Settings() {
		o, _ := c.Values.index.find(s.Name)
		if s.Set && (o.NoEffect || s.NoEffect && !c.isShared(s.Origin)) {
			out = append(out, s.Name)
		}
	}
	return out
}

func (c *Config) isShared(origin string) bool {
	file := origin[:max(strings.LastIndexByte(origin, ':'), 0)]
	switch filepath.Base(file) {
	case "default.conf", "admin.conf":
		return file != c.Path
	}
	return false
}
