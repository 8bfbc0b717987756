package config

import (
	"errors"
	"fmt"
	"strings"
)

// NormalizeArgs separates the options of a command line from its arguments
// and gives each option the form of a configuration line: its name in the
// table, then its value if it has one. Options may stand before, between and
// behind arguments; one dash is as good as two, and - as good as _ within a
// name. "--" ends the options; a lone "-" is an argument or a value.
//
// "-name value" and "-name=value" are the same, with two exceptions. A boolean
// takes the next word only when that is one of on, off, true, false, yes or
// no; an option which may stand bare (suppress_duplicates) only when that word
// is a value of it. An option that needs a value takes any next word but the
// name of another option, so -1 and - are values.
//
// Unknown options are refused when they look like a slip of a known one, or are short. Others
// are kept under their name and have a value only as "-name=value".
//
// The error holds every mistake found (errors.Join).
func NormalizeArgs(argv []string) (words [][]string, rest []string, err error) {
	n := normalizer{index: newIndex(), argv: argv}
	var errs []error
	for len(n.argv) > 0 {
		word := n.next()
		switch {
		case word == "--":
			rest = append(rest, n.argv...)
			n.argv = nil
		case word == "-" || !strings.HasPrefix(word, "-"):
			rest = append(rest, word)
		default:
			line, err := n.option(word)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			words = append(words, line)
		}
	}
	return words, rest, errors.Join(errs...)
}

type normalizer struct {
	index *index
	argv  []string
}

func (n *normalizer) next() string {
	word := n.argv[0]
	n.argv = n.argv[1:]
	return word
}

func (n *normalizer) option(word string) ([]string, error) {
	name, value, joined := strings.Cut(bareName(word), "=")
	o, ok := n.index.find(name)
	if !ok {
		return n.unknown(word, name, value, joined)
	}
	switch {
	case joined:
		return []string{o.Name, value}, nil
	case o.bareWords() != nil:
		if len(n.argv) == 0 || !o.takes(n.argv[0]) {
			return []string{o.Name}, nil
		}
	case len(n.argv) == 0:
		return nil, fmt.Errorf("option %q needs a value", word)
	case n.isOption(n.argv[0]):
		return nil, fmt.Errorf("option %q needs a value, and %q is an option: write %s=%s if it is meant as the value",
			word, n.argv[0], word, n.argv[0])
	}
	return []string{o.Name, n.next()}, nil
}

// takes says whether an option that may stand bare takes the word.
func (o *Option) takes(word string) bool {
	if o.Kind == KindBool {
		switch word {
		case "on", "off", "true", "false", "yes", "no":
			return true
		}
		return false
	}
	_, err := o.parseWord(word)
	return err == nil
}

func (n *normalizer) isOption(word string) bool {
	if len(word) < 2 || word[0] != '-' {
		return false
	}
	name, _, _ := strings.Cut(bareName(word), "=")
	if strings.Trim(name, "0123456789.") == "" {
		return false
	}
	_, ok := n.index.find(name)
	return ok
}

// shortName is the length in letters up to which an unknown option of the command line is taken for a
// slip: hooks have longer names, and what stands behind it would be taken for a file.
const shortName = 4

func (n *normalizer) unknown(word, name, value string, joined bool) ([]string, error) {
	text, hint := n.index.explainUnknown(name)
	switch {
	case hint != "":
		return nil, fmt.Errorf("%s: %s", text, hint)
	case name == "" || strings.Trim(name, "0123456789.") == "":
		return nil, fmt.Errorf("%q is not an option", word)
	case joined:
		return []string{name, value}, nil
	case len(name) <= shortName:
		return nil, fmt.Errorf("unknown option %q", word)
	}
	return []string{name}, nil
}
