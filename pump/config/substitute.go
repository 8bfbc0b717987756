package config

import (
	"net/url"
	"strings"
)

// expand replaces ${name} by, in this order: HOSTNAME, PROGRAM, CONFIG,
// BROKER_USER and RANDID; the value of an option (the first of a list); a
// variable of the environment or of "declare env". What is not set stays as
// it is, and so do the names late knows, where there is such: those known only when a
// file is placed, or a hook run. A replacement is not looked at again. unset names the first ${...}
// that stayed although it should not have.
func (p *parser) expand(word string, late func(string) bool) (out, unset string) {
	if !strings.Contains(word, "${") {
		return word, ""
	}
	var b strings.Builder
	for {
		start := strings.Index(word, "${")
		if start < 0 {
			break
		}
		end := strings.IndexByte(word[start:], '}')
		if end < 0 {
			break
		}
		end += start
		b.WriteString(word[:start])
		name := word[start+2 : end]
		value, ok := "", false
		if isLate := late != nil && late(name); !isLate {
			if value, ok = p.variable(name); !ok && unset == "" {
				unset = name
			}
		}
		if !ok {
			value = word[start : end+1]
		}
		b.WriteString(value)
		word = word[end+1:]
	}
	b.WriteString(word)
	return b.String(), unset
}

func (p *parser) variable(name string) (string, bool) {
	var value string
	switch name {
	case "HOSTNAME":
		value = p.env.Hostname
	case "PROGRAM":
		value = p.values.preset.Program()
	case "CONFIG":
		value = p.name
	case "BROKER_USER":
		value = p.brokerUser()
	case "RANDID":
		value = p.env.RandID
	default:
		return p.optionOrEnvironment(name)
	}
	return value, value != ""
}

func (p *parser) optionOrEnvironment(name string) (string, bool) {
	if o, ok := p.values.index.find(name); ok && strings.Trim(name, "-0123456789") != "" {
		s, _ := p.values.lookup(o.Name)
		text := s.text
		if items, ok := s.value.([]string); ok {
			text = first(items)
		}
		if text != "" {
			return text, true
		}
	}
	if kept := first(p.unknown[name]); kept != "" {
		return kept, true
	}
	if value, ok := p.environ[name]; ok {
		return value, true
	}
	return p.env.lookup(name)
}

func first(items []string) string {
	if len(items) == 0 {
		return ""
	}
	return items[0]
}

func (p *parser) brokerUser() string {
	for _, name := range []string{"broker", "post_broker"} {
		u, err := url.Parse(p.values.String(name))
		if err == nil && u.User.Username() != "" {
			return u.User.Username()
		}
	}
	return ""
}

// lateName knows the names that the words of an option keep as they are, if there are such.
func (o *Option) lateName() func(string) bool {
	switch {
	case o.namesHooks():
		return HookVariable
	case o.Late:
		return isLateName
	}
	return nil
}

// isLateName knows what placement replaces: base directories, dates with or
// without an offset such as YYYYMMDD-1D, captures, and the fields of WMO names.
func isLateName(name string) bool {
	if name != "" && strings.Trim(name, "0123456789") == "" {
		return true
	}
	switch name {
	case "BD", "PBD", "DR", "PDR", "SOURCE",
		"YYYYMMDD", "YYYY", "MM", "DD", "HH", "JJJ",
		"T1", "T2", "A1", "A2", "ii", "CCCC", "YY", "GG", "Gg", "BBB",
		"RYYYY", "RMM", "RDD", "RHH", "RMN", "RSS":
		return true
	}
	date, offset, ok := strings.Cut(name, "-")
	if !ok || !isLateName(date) {
		return false
	}
	_, err := parseDuration(offset)
	return err == nil
}
