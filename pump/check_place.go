package pump

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"srpump/pump/broker"
	"srpump/pump/config"
)

// An OptionError is what is wrong with the value of one option.
type OptionError struct {
	Option string
	Err    error
	origin string // of the one line of a list that is wrong, as config.Values.Origin has it
}

func (e *OptionError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *OptionError) Unwrap() error { return e.Err }

// about names the option an error is about; nil stays nil.
func about(option string, err error) error {
	if err == nil {
		return nil
	}
	return &OptionError{Option: option, Err: err}
}

// A LineError is what is wrong with one accept or reject line.
type LineError struct {
	What string // what cannot be used, if the cause does not say so
	File string
	Line int
	Err  error
}

func (e *LineError) Error() string {
	at := where(config.Rule{File: e.File, Line: e.Line})
	if e.What == "" {
		return fmt.Sprintf("%v (%s)", e.Err, at)
	}
	return fmt.Sprintf("%s (%s): %v", e.What, at, e.Err)
}

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// refusals are the errors of a start, each as a problem at its place.
func refusals(c *config.Config, err error) (out []config.Problem) {
	for _, e := range apart(err) {
		p := config.Problem{File: c.Path, Text: e.Error(), Hint: broker.Hint(e), Severity: config.Error}
		var line *LineError
		var option *OptionError
		switch {
		case errors.As(e, &option):
			p.Option, p.Text = option.Option, option.Err.Error()
			file, n := place(c, option.Option)
			if option.origin != "" {
				file, n = placeOf(option.origin)
			}
			if errors.As(e, &line) {
				file, n = placeAbove(c, option.Option, line)
			}
			if file != "" {
				p.File, p.Line = file, n
			}
		case errors.As(e, &line):
			p.File, p.Line, p.Text = line.File, line.Line, line.Err.Error()
			if line.What != "" {
				p.Text = line.What + ": " + p.Text
			}
		}
		out = append(out, p)
	}
	return out
}

// apart takes joined errors apart, also those below the place they were found at.
func apart(err error) (out []error) {
	if err == nil {
		return nil
	}
	if line, ok := err.(*LineError); ok && line.What == "" {
		for _, e := range apart(line.Err) {
			out = append(out, &LineError{"", line.File, line.Line, e})
		}
		return out
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var texts []string
	for _, e := range joined.Unwrap() {
		out = append(out, apart(e)...)
		texts = append(texts, e.Error())
	}
	if strings.Join(texts, "\n") != err.Error() {
		return []error{err} // one error that wraps two
	}
	return out
}

// placeAbove is the line an option was last set at when a rule was read.
func placeAbove(c *config.Config, option string, rule *LineError) (file string, line int) {
	for _, l := range c.Lines {
		if l.File == rule.File && l.Line == rule.Line {
			break
		}
		if l.Option == option {
			file, line = l.File, l.Line
		}
	}
	return file, line
}

// place is the line an option was set at; no file when nobody set it.
func place(c *config.Config, option string) (file string, line int) {
	return placeOf(c.Values.Origin(option))
}

// placeOf takes an origin of config.Values apart.
func placeOf(origin string) (file string, line int) {
	if origin == config.OriginDefault {
		return "", 0
	}
	i := strings.LastIndexByte(origin, ':')
	if i < 0 {
		return origin, 0
	}
	n, err := strconv.Atoi(origin[i+1:])
	if err != nil {
		return origin, 0
	}
	return origin[:i], n
}
