package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"srpump/pump"
	"srpump/pump/config"
	"srpump/pump/daemon"
)

// A finding is one line of what check prints.
type finding struct {
	file, text string
	line       int
	severity   config.Severity
}

// A checker prints what is wrong with several configurations; what is wrong with a file they
// share is said once.
type checker struct {
	s      *session
	said   map[finding]bool
	failed bool
}

// check prints everything that is wrong with the configurations named, or with all that are
// enabled, each thing at its place. It fails when any of them cannot be started.
func (s *session) check(args []string) error {
	configs, err := s.toCheck(args)
	if err != nil {
		return err
	}
	k := &checker{s: s, said: make(map[finding]bool)}
	for _, arg := range configs {
		k.one(arg)
	}
	if k.failed {
		return exitStatus(ExitUsage)
	}
	return nil
}

// toCheck are the configurations the arguments name: a configuration goes before a directory
// that happens to have its name.
func (s *session) toCheck(args []string) (out []string, err error) {
	if given(s.words, "config") {
		args = append(args, s.option("config"))
	}
	for _, arg := range args {
		_, err := s.Env.FindConfig(s.preset.String(), arg)
		if info, statErr := os.Stat(arg); err == nil || statErr != nil || !info.IsDir() {
			out = append(out, arg)
			continue
		}
		found, err := filepath.Glob(filepath.Join(arg, "*.conf"))
		if err != nil {
			return nil, fmt.Errorf("cannot list %q: %w", arg, err)
		}
		if len(found) == 0 {
			return nil, usagef("no configuration in %q", arg)
		}
		out = append(out, found...)
	}
	if len(args) > 0 {
		return out, nil
	}
	all, err := daemon.List(s.Env, s.preset.String())
	for _, l := range all {
		if !l.Disabled {
			out = append(out, l.Path)
		}
	}
	if err == nil && len(out) == 0 {
		err = usagef("no configuration named, and none in %s", filepath.Join(s.Env.ConfigDir(), s.preset.String()))
	}
	return out, err
}

// one checks one configuration. Unknown options are errors here, whatever it says of them.
func (k *checker) one(arg string) {
	cfg, problems := config.Load(config.Request{Env: k.s.Env, Preset: k.s.preset, ConfigArg: arg, Args: k.s.strictWords()})
	k.s.cfg = cfg
	name := cfg.Path
	if name == "" {
		name = arg
	} else {
		problems = append(problems, pump.Check(cfg, k.s.host())...)
	}
	clean := true
	for _, p := range pump.SortProblems(cfg, problems) {
		k.say(name, p)
		clean = false
		k.failed = k.failed || p.Severity == config.Error
	}
	if clean {
		k.s.sayf("%s: ok", name)
	}
}

// say prints a problem and its hint, which are found by file and line as a compiler's are.
func (k *checker) say(name string, p config.Problem) {
	f := finding{p.File, p.Text, p.Line, p.Severity}
	if k.said[f] {
		return
	}
	k.said[f] = true
	at := name
	if p.File != "" {
		at = p.File
	}
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, p.Line)
	}
	k.s.sayf("%s: %s: %s", at, p.Severity, p.Text)
	if p.Hint != "" {
		k.s.sayf("%s: hint: %s", at, p.Hint)
	}
}

// strictWords are the options of the command line, and that unknown ones are errors.
func (s *session) strictWords() [][]string {
	words := [][]string{{"unknown_options", "error"}}
	for _, w := range s.words {
		if w[0] != "config" && w[0] != "action" && w[0] != "unknown_options" {
			words = append(words, w)
		}
	}
	return words
}
