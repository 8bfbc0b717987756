package cli

import (
	"bufio"
	"bytes"
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"srpump/examples"
	"srpump/pump/config"
	"srpump/pump/daemon"
)

// listFiles prints what there is: configurations, what they may include, and examples.
func (s *session) listFiles(_ context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "plugins":
		return s.listHooks()
	case len(args) > 0:
		return usagef("list takes nothing but plugins behind it")
	}
	all, err := daemon.List(s.Env, s.preset.String())
	if err != nil {
		return err
	}
	var rows [][]string
	for _, l := range all {
		how := "enabled"
		if l.Disabled {
			how = "disabled"
		}
		rows = append(rows, []string{l.Name, how, l.Path})
	}
	s.table("CONFIGURATIONS", rows)
	rows = nil
	included, _ := filepath.Glob(filepath.Join(s.configDir(), "*.inc")) // the pattern is well-formed
	for _, f := range included {
		rows = append(rows, []string{config.ConfigName(f), f})
	}
	s.table("INCLUDES", rows)
	rows = nil
	for _, name := range s.exampleNames() {
		rows = append(rows, []string{name, s.exampleTitle(name)})
	}
	s.table("EXAMPLES", rows)
	return nil
}

// listHooks prints where a configuration can have a program of its own at work.
func (s *session) listHooks() error {
	var rows [][]string
	for _, o := range config.Table() {
		if o.Section == config.SectionHook && o.Kind == config.KindList && o.Applies(s.preset) {
			state := o.Help
			if o.NoEffect {
				state += "; without effect in this release"
			}
			rows = append(rows, []string{o.Name, state})
		}
	}
	s.table("HOOKS", rows)
	return nil
}

// configDir holds the configurations of the component.
func (s *session) configDir() string { return filepath.Join(s.Env.ConfigDir(), s.preset.String()) }

// exampleNames are the examples of the component, in order.
func (s *session) exampleNames() (out []string) {
	found, _ := fs.Glob(examples.Files, s.preset.String()+"/*.conf") // the pattern is well-formed
	for _, f := range found {
		out = append(out, config.ConfigName(f))
	}
	return out
}

func (s *session) example(name string) ([]byte, error) {
	return examples.Files.ReadFile(path.Join(s.preset.String(), name+".conf"))
}

// exampleTitle is the first line of an example, which says what it is for.
func (s *session) exampleTitle(name string) string {
	text, err := s.example(name)
	if err != nil {
		return ""
	}
	line, _ := bufio.NewReader(bytes.NewReader(text)).ReadString('\n')
	return strings.TrimSpace(strings.TrimPrefix(line, "#"))
}
