package hook

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// newHourTree puts a file into a directory of the hour it was announced.
func newHourTree(Env) (Hook, error) {
	return changing(func(e *Event) {
		if e.Root != "" {
			e.Dir = path.Join(e.Dir, hour(e.Announcement))
		}
	}), nil
}

// newWhatFn names a file by the first of the fields of a name of Sundew.
func newWhatFn(Env) (Hook, error) {
	return changing(func(e *Event) {
		if first, _, _ := strings.Cut(e.File, ":"); first != "" {
			e.File = first
		}
	}), nil
}

// newSampleName shows how a destfn_script works.
func newSampleName(Env) (Hook, error) {
	return changing(func(e *Event) { e.File += ".renamed" }), nil
}

// newReplaceDir replaces a pattern in the directory of a file. It may lead out of the directory of the
// configuration only where it leads out with that itself: what an announcement says does not.
func newReplaceDir(env Env) (Hook, error) {
	const option = "msg_replace_new_dir"
	said := env.Own.String(option)
	comma := strings.LastIndexByte(said, ',')
	if comma < 0 {
		return nil, fmt.Errorf("option %q takes pattern,replacement", option)
	}
	re, err := regexp.Compile(said[:comma])
	if err != nil {
		return nil, fmt.Errorf("option %q: %w", option, err)
	}
	with := goTemplate(said[comma+1:])
	return step(func(_ context.Context, e *Event) (bool, error) {
		if e.Root == "" {
			return true, nil
		}
		dir, root := path.Clean("/"+re.ReplaceAllString(e.Dir, with)), path.Clean("/"+re.ReplaceAllString(e.Root, with))
		if !below(e.Root, dir) && below(root, dir) {
			e.Root = root
		}
		e.Dir = dir
		return true, nil
	}), nil
}

// goTemplate makes a template of ours of one of Python, where \1 is the first group and $ is plain.
func goTemplate(s string) string {
	s = strings.ReplaceAll(s, "$", "$$")
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9' {
			i++
			b.WriteString("${" + s[i:i+1] + "}")
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
