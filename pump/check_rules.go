package pump

import (
	"fmt"
	"strings"

	"srpump/pump/config"
)

// subtopics finds bindings that bind something else than they seem to: below a prefix that is put
// before them anyway, or to a * or # which is a wildcard only as a whole word.
func (k *check) subtopics() {
	if k.c.Preset&posts != 0 {
		return
	}
	for _, b := range k.c.Bindings {
		if b.Prefix != "" && strings.HasPrefix(b.Subtopic, b.Prefix+".") {
			k.warn(b.File, b.Line, fmt.Sprintf("subtopic %q is bound as %q, and so seldom matches", b.Subtopic, b.Key()),
				fmt.Sprintf("leave out %q, which topic_prefix says already", b.Prefix+"."))
		}
		for _, word := range strings.Split(b.Subtopic, ".") {
			if len(word) > 1 && strings.ContainsAny(word, "*#") {
				k.warn(b.File, b.Line, fmt.Sprintf("subtopic %q: %q is no wildcard, and matches only itself", b.Subtopic, word),
					"write * or # as a word of its own, and choose among names with accept")
			}
		}
	}
}

// rules finds the accept and reject lines that can never decide anything.
func (k *check) rules() {
	k.rejectsAll()
	shapes := make([]shape, len(k.c.Rules))
	for i, r := range k.c.Rules {
		if part := slowPart(r.Pattern); part != "" {
			if _, err := compile(r.Pattern); err != nil {
				continue
			}
			k.warn(r.File, r.Line, fmt.Sprintf("pattern %q is slow: %s needs backtracking", r.Pattern, part),
				"a reject line above often does what a look-ahead is for")
		}
		shapes[i], _ = shapeOf(r.Pattern)
		if by, ok := k.coveredBy(shapes, i); ok {
			k.warn(r.File, r.Line, fmt.Sprintf("%s %q can never match: all it matches is taken by %s %q (%s)", verb(r), r.Pattern, verb(by), by.Pattern, where(by)),
				"the first rule that matches decides: put the narrower one above")
			continue
		}
		k.anchored(r, shapes[i])
	}
}

// rejectsAll warns of rules that leave nothing: reject lines alone, where what no line matches is left as well.
func (k *check) rejectsAll() {
	rules := k.c.Rules
	if len(rules) > 0 && len(k.accepts()) == 0 && !k.c.AcceptsUnmatched() {
		last := rules[len(rules)-1]
		k.warn(last.File, last.Line, "there is no accept line, and so nothing is taken", "add accept .* behind the reject lines, or accept_unmatch on")
	}
}

// coveredBy finds an earlier rule that matches whatever rule i does.
func (k *check) coveredBy(shapes []shape, i int) (config.Rule, bool) {
	for j, by := range k.c.Rules[:i] {
		if k.c.Preset == config.Poll && by.Directory != k.c.Rules[i].Directory {
			continue // they are asked about different files
		}
		if by.Pattern == k.c.Rules[i].Pattern || shapes[j].covers(shapes[i]) {
			return by, true
		}
	}
	return config.Rule{}, false
}

func verb(r config.Rule) string {
	if r.Accept {
		return "accept"
	}
	return "reject"
}

// anchored warns of a pattern meant for the middle: all are matched from the beginning of the
// whole URL.
func (k *check) anchored(r config.Rule, s shape) {
	if s.prefix == "" || k.c.Preset == config.Poll || k.mayBegin(s.prefix) {
		return
	}
	k.warn(r.File, r.Line, fmt.Sprintf("%s %q matches nothing: no URL begins with %q", verb(r), r.Pattern, s.prefix),
		fmt.Sprintf("patterns are matched from the beginning of the whole URL: write .*%s", r.Pattern))
}

// mayBegin reports whether what announcements are matched as may begin with prefix: for posters
// their own URL, else any.
func (k *check) mayBegin(prefix string) bool {
	begins := []string{"http:", "https:", "ftp:", "ftps:", "sftp:", "scp:", "file:", "s3:"}
	if u := k.c.Values.String("post_base_url"); k.c.Preset&posts != 0 && u != "" {
		begins = []string{u}
	}
	for _, b := range begins {
		if strings.HasPrefix(prefix, b) || strings.HasPrefix(b, prefix) {
			return true
		}
	}
	// Another scheme is one as long as its letters can be.
	name, _, ok := strings.Cut(prefix, "://")
	return ok && len(begins) > 1 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}
