package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"srpump/pump"
	"srpump/pump/config"
	"srpump/pump/daemon"
)

// check prints everything that is wrong with the configurations named, or with all that are
// enabled, each thing at its place. It fails when any of them cannot be started.
func (s *session) check(args []string) error {
	configs, err := s.toCheck(args)
	if err != nil {
		return err
	}
	r := newCheckReport()
	for _, arg := range configs {
		r.add(s.examine(arg))
	}
	return r.print(s.Stdout, given(s.words, "json"))
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

// examine checks one configuration. Unknown options are errors here, whatever it says of them.
func (s *session) examine(arg string) checkedConfig {
	cfg, problems := config.Load(config.Request{Env: s.Env, Preset: s.preset, ConfigArg: arg, Args: s.strictWords()})
	s.cfg = cfg
	out := checkedConfig{Component: s.preset.String(), Config: cfg.Name, Path: cfg.Path, OK: true, Problems: []finding{}}
	if out.Path == "" {
		out.Path = arg
	} else {
		problems = append(problems, pump.Check(cfg, s.host())...)
		problems = append(problems, s.checkPipeline()...)
	}
	for _, p := range pump.SortProblems(cfg, problems) {
		out.Problems = append(out.Problems, finding{cmp.Or(p.File, out.Path), p.Line, p.Severity.String(), p.Text, p.Hint})
		out.OK = out.OK && p.Severity != config.Error
	}
	return out
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
