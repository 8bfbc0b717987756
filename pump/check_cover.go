package pump

import (
	"regexp/syntax"
	"strings"
)

// A shape is what is proven about the texts a pattern matches, which is anchored at its
// start. What cannot be proven is left empty: a shape never claims too much.
type shape struct {
	all    bool     // it matches every announcement
	prefix string   // every text it matches begins with this
	pieces []string // and holds each of these
	suffix string   // and ends in this

	// exact says that it matches all texts with prefix (or, without one, all that hold pieces[0],
	// or, without one, all that end in suffix), and not only some.
	exact bool
}

// shapeOf takes a pattern apart; known is false for what RE2 cannot hold.
func shapeOf(pattern string) (s shape, known bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return shape{}, false
	}
	var parts []*syntax.Regexp
	for _, p := range flat(re) {
		if p.Op == syntax.OpBeginText && len(parts) == 0 || p.Op == syntax.OpEmptyMatch {
			continue
		}
		parts = append(parts, p)
	}
	return measure(parts), true
}

// flat is the sequence a pattern consists of; groups are looked through.
func flat(re *syntax.Regexp) (out []*syntax.Regexp) {
	switch re.Op {
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			out = append(out, flat(sub)...)
		}
		return out
	}
	return []*syntax.Regexp{re}
}

func measure(parts []*syntax.Regexp) (s shape) {
	ended := len(parts) > 0 && parts[len(parts)-1].Op == syntax.OpEndText
	if ended {
		parts = parts[:len(parts)-1]
	}
	var run string // literal characters up to here
	gaps, loose := 0, 0
	first := true
	flush := func(last bool) {
		if run != "" {
			s.pieces = append(s.pieces, run)
		}
		if first {
			s.prefix, first = run, false
		}
		if last && ended {
			s.suffix = run
		}
		run = ""
	}
	for _, p := range parts {
		if p.Op == syntax.OpLiteral && p.Flags&syntax.FoldCase == 0 {
			run += string(p.Rune)
			continue
		}
		flush(false)
		if anything(p) {
			gaps++
		} else {
			loose++
		}
	}
	flush(true)
	s.all = loose == 0 && len(s.pieces) == 0 && (gaps > 0 || !ended) || len(parts) == 1 && !ended && atLeastOne(parts[0])
	s.exact = loose == 0 && len(s.pieces) == 1 && exactly(parts, ended)
	if s.prefix == "" && s.exact && s.suffix != "" {
		s.pieces = nil
	}
	return s
}

// exactly reports whether literals and gaps are in the order lit [gap], gap lit [gap] or gap lit end.
func exactly(parts []*syntax.Regexp, ended bool) bool {
	last := anything(parts[len(parts)-1])
	head := !anything(parts[0])
	if head {
		return !ended || last
	}
	return true
}

// anything is .* in any of its forms. No announcement holds a line end.
func anything(re *syntax.Regexp) bool {
	return re.Op == syntax.OpStar && anyCharacter(re.Sub[0])
}

func atLeastOne(re *syntax.Regexp) bool { return re.Op == syntax.OpPlus && anyCharacter(re.Sub[0]) }

func anyCharacter(re *syntax.Regexp) bool {
	return re.Op == syntax.OpAnyChar || re.Op == syntax.OpAnyCharNotNL
}

// covers reports that every text l matches is matched by s already.
func (s shape) covers(l shape) bool {
	switch {
	case s.all:
		return true
	case !s.exact:
		return false
	case s.prefix != "":
		return strings.HasPrefix(l.prefix, s.prefix)
	case s.suffix != "":
		return strings.HasSuffix(l.suffix, s.suffix)
	}
	for _, p := range l.pieces {
		if strings.Contains(p, s.pieces[0]) {
			return true
		}
	}
	return false
}
