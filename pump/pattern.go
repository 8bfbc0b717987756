package pump

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// brokenPattern says in plain words what is wrong with a pattern no engine takes, and where.
func brokenPattern(pattern string) error {
	_, err := syntax.Parse(pattern, syntax.Perl)
	var e *syntax.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("it is no pattern")
	}
	switch e.Code {
	case syntax.ErrMissingParen:
		return at("the ( is never closed", unclosed(pattern))
	case syntax.ErrUnexpectedParen:
		return at("the ) closes nothing", surplus(pattern))
	case syntax.ErrMissingBracket:
		return at("the [ is never closed", strings.Index(pattern, e.Expr))
	case syntax.ErrMissingRepeatArgument:
		return at(fmt.Sprintf("there is nothing before the %s to repeat", e.Expr), strings.Index(pattern, e.Expr))
	case syntax.ErrTrailingBackslash:
		return at("nothing follows the \\", len(pattern)-1)
	}
	return at(fmt.Sprintf("%s: %s", e.Code, e.Expr), strings.Index(pattern, e.Expr))
}

// at tells a position as people count: from 1.
func at(what string, i int) error {
	if i < 0 {
		return errors.New(what)
	}
	return fmt.Errorf("%s (character %d)", what, i+1)
}

func unclosed(pattern string) int {
	open, _ := brackets(pattern)
	return open
}

func surplus(pattern string) int {
	_, extra := brackets(pattern)
	return extra
}

// brackets finds the last ( that is not closed and the first ) that closes nothing, or -1.
func brackets(pattern string) (open, extra int) {
	var stack []int
	extra = -1
	class := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			stack = append(stack, i)
		case c == ')' && len(stack) > 0:
			stack = stack[:len(stack)-1]
		case c == ')' && extra < 0:
			extra = i
		}
	}
	if len(stack) == 0 {
		return -1, extra
	}
	return stack[len(stack)-1], extra
}

// slowPart is the first thing in a pattern that only backtracking can match: look-around and
// back-references; empty when there is none.
func slowPart(pattern string) string {
	_, err := syntax.Parse(pattern, syntax.Perl)
	var e *syntax.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Expr
}
