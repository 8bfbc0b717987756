package config

import "fmt"

// Severity says whether a problem prevents a start.
type Severity int

// A warning is said and lived with; an error prevents a start.
const (
	Warning Severity = iota
	Error
)

// String returns "warning" or "error".
func (s Severity) String() string {
	if s == Error {
		return "error"
	}
	return "warning"
}

// Problem is something wrong at one place. No secret is ever part of it.
type Problem struct {
	File     string // as opened; "command line", or empty when no file is to blame
	Line     int    // from 1; 0 when it concerns the whole file
	Option   string // the option concerned, if any
	Text     string // what is wrong: lower case, no final period
	Hint     string // what to do about it, if anything is known
	Severity Severity
	unknown  bool // an unknown option kept for hooks
	hook     bool // a hook that is not run
}

// String returns the place and the text, without the hint.
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Text
	case p.Line == 0:
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Failed reports whether any of the problems is an error.
func Failed(problems []Problem) bool {
	for _, p := range problems {
		if p.Severity == Error {
			return true
		}
	}
	return false
}
