package retry

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A pythonText is what is left to read of a value as Python prints it.
type pythonText struct{ rest string }

// pythonDict reads a dictionary of texts at the beginning of s, such as {'a': 'b', "c": 1}. Numbers
// and names become text; None leaves its entry out.
func pythonDict(s string) (map[string]any, error) {
	p := &pythonText{strings.TrimPrefix(s, "{")}
	out := make(map[string]any)
	for {
		if p.take("}") {
			return out, nil
		}
		name, _, err := p.value()
		if err != nil {
			return nil, err
		}
		if !p.take(":") {
			return nil, fmt.Errorf("no colon behind header %.40q", name)
		}
		value, none, err := p.value()
		if err != nil {
			return nil, err
		}
		if !none {
			out[name] = value
		}
		if !p.take(",") && !strings.HasPrefix(p.rest, "}") {
			return nil, fmt.Errorf("headers that do not end behind %.40q", name)
		}
	}
}

// take passes over white space and then over a mark, when it is next.
func (p *pythonText) take(mark string) bool {
	p.rest = strings.TrimLeft(p.rest, " ")
	rest, ok := strings.CutPrefix(p.rest, mark)
	p.rest = rest
	if ok {
		p.rest = strings.TrimLeft(rest, " ")
	}
	return ok
}

func (p *pythonText) value() (text string, none bool, err error) {
	p.rest = strings.TrimLeft(p.rest, " ")
	body := strings.TrimLeft(p.rest, "ub")
	if body != "" && (body[0] == '\'' || body[0] == '"') && len(p.rest)-len(body) <= 1 {
		text, err = p.quoted(body[0], body[1:])
		return text, false, err
	}
	end := strings.IndexAny(p.rest, ",:}")
	if end <= 0 {
		return "", false, errors.New("headers that are cut")
	}
	text, p.rest = strings.TrimSpace(p.rest[:end]), p.rest[end:]
	if strings.ContainsAny(text, "[({'\"") {
		return "", false, fmt.Errorf("a header of another kind: %.40q", text)
	}
	return text, text == "None", nil
}

// quoted reads up to the quote that ends the text.
func (p *pythonText) quoted(quote byte, s string) (string, error) {
	var b strings.Builder
	for s != "" {
		switch {
		case s[0] == quote:
			p.rest = s[1:]
			if !utf8.ValidString(b.String()) {
				return "", errors.New("a header that is not UTF-8")
			}
			return b.String(), nil
		case strings.HasPrefix(s, `\'`), strings.HasPrefix(s, `\"`):
			b.WriteByte(s[1])
			s = s[2:]
		case s[0] == '\\':
			r, _, rest, err := strconv.UnquoteChar(s, 0)
			if err != nil {
				return "", fmt.Errorf("a header with a bad escape: %.40q", s)
			}
			b.WriteRune(r)
			s = rest
		default:
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
	return "", errors.New("a header that is cut")
}
