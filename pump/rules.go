package pump

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/dlclark/regexp2"

	"srpump/post"
	"srpump/pump/config"
)

// patternTime bounds one match of a pattern that needs backtracking.
const patternTime = 100 * time.Millisecond

// A Rules is the accept and reject lines of one configuration, in order; the
// first that matches decides (sr_options(5), accept).
type Rules struct {
	rules   []rule
	final   config.Capture // in force at the end of the configuration
	unmatch bool           // take what no rule matches
}

type rule struct {
	config.Rule
	match matcher
	where string
}

// A matcher returns the capture groups of a match at the start of the text, or nil. It
// fails when it cannot tell in time.
type matcher func(text string) ([]string, error)

// NewRules compiles the rules of a configuration and checks the placement options in
// force at them. The error names every line and what is wrong there.
func NewRules(rules []config.Rule, final config.Capture, unmatch bool) (*Rules, error) {
	rs := &Rules{final: final, unmatch: unmatch}
	var errs []error
	if len(rules) == 0 {
		errs = append(errs, checkCapture(final, ""))
	}
	for _, r := range rules {
		m, err := compile(r.Pattern)
		if err != nil {
			err = &LineError{fmt.Sprintf("cannot use pattern %q", r.Pattern), r.File, r.Line, err}
		}
		errs = append(errs, err, atLine(r, checkCapture(r.Capture, r.FileOption)))
		rs.rules = append(rs.rules, rule{r, m, where(r)})
	}
	return rs, errors.Join(errs...)
}

// checkCapture refuses what no file could be placed with.
func checkCapture(c config.Capture, fileOption string) error {
	_, err := new(Placement).strip(c.Strip, "a/b")
	return errors.Join(about("strip", err), about("filename", checkFilename(c.Filename)), checkFilename(fileOption))
}

// atLine gives the line of a rule to an error that names no option of a line of its own.
func atLine(r config.Rule, err error) error {
	if err == nil {
		return nil
	}
	return &LineError{"", r.File, r.Line, err}
}

// where is the place of a rule: a line of a file, or the command line, which has none.
func where(r config.Rule) string {
	if r.Line == 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

// compile anchors the pattern at the start only, as all peers do. What RE2 cannot
// hold (look-around, back-references) goes to an engine that can, with a time limit.
func compile(pattern string) (matcher, error) {
	_, err := syntax.Parse(pattern, syntax.Perl) // alone: an a)(b must not close our brackets
	if err == nil {
		re, err := regexp.Compile(`^(?:` + pattern + `)`)
		if err == nil {
			return func(text string) ([]string, error) { return re.FindStringSubmatch(text), nil }, nil
		}
	}
	if _, err := regexp2.Compile(pattern, regexp2.None); err != nil {
		return nil, brokenPattern(pattern)
	}
	back, backErr := regexp2.Compile(`^(?:`+pattern+`)`, regexp2.None)
	if backErr != nil {
		return nil, brokenPattern(pattern)
	}
	back.MatchTimeout = patternTime
	return func(text string) ([]string, error) { return backtrack(back, text) }, nil
}

func backtrack(re *regexp2.Regexp, text string) ([]string, error) {
	m, err := re.FindStringMatch(text)
	if err != nil || m == nil {
		return nil, err
	}
	var groups []string
	for _, g := range m.Groups() {
		groups = append(groups, g.String())
	}
	return groups, nil
}

// A Choice is what the rules decided for one announcement.
type Choice struct {
	Accept     bool
	Capture    config.Capture // placement in force at the deciding line
	FileOption string
	Groups     []string // of the deciding pattern: 1 is the first group
	Line       string   // file:line of the deciding rule; empty when none matched
}

// matched is the text patterns are matched against.
func matched(a *post.Announcement) string {
	text := a.Text()
	if ext := a.Header("sundew_extension"); ext != "" && !strings.Contains(a.Path, ":") {
		text += ":" + ext
	}
	return text
}

// Choose decides about an announcement: its srcpath and relpath, as they stand
// on the first line, against each pattern in turn. It fails when a pattern cannot
// tell in time; a stranger's name must not slip past a reject that way.
func (rs *Rules) Choose(a *post.Announcement) (Choice, error) {
	text := matched(a)
	return rs.choose(text)
}

// choose asks each rule about a text.
func (rs *Rules) choose(text string) (Choice, error) {
	for i := range rs.rules {
		r := &rs.rules[i]
		groups, err := r.match(text)
		if err != nil {
			return Choice{}, fmt.Errorf("cannot match %q (%s): %w", r.Pattern, r.where, err)
		}
		if groups != nil {
			return Choice{r.Accept, r.Capture, r.FileOption, groups, r.where}, nil
		}
	}
	return Choice{Accept: rs.unmatch, Capture: rs.final}, nil
}
