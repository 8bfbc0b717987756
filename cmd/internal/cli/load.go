package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"srpump/pump/config"
)

// load reads the configuration the command line asks for, and says everything that is
// wrong with it at once.
func (s *session) load(words [][]string, rest []string) bool {
	arg, err := s.arguments(rest, given(words, "config"))
	if err != nil {
		s.errorf("%v", err)
		s.hint(shortUsage(s.preset))
		return false
	}
	return s.loadConfig(words, arg)
}

// loadConfig reads the configuration of that name or path, or none.
func (s *session) loadConfig(words [][]string, arg string) bool {
	s.request = config.Request{Env: s.Env, Preset: s.preset, ConfigArg: arg, Args: words, Paths: s.paths}
	cfg, problems := config.Load(s.request)
	s.tell(problems)
	s.cfg = cfg
	return !config.Failed(problems)
}

// tell says everything that is wrong with a configuration.
func (s *session) tell(problems []config.Problem) {
	for _, p := range problems {
		if p.Severity == config.Error {
			s.errorf("%s", p)
		} else {
			s.warningf("%s", p)
		}
		s.hint(p.Hint)
	}
}

// arguments takes the configuration from the front of the arguments; the rest are paths.
func (s *session) arguments(rest []string, configured bool) (configArg string, err error) {
	posts := s.preset == config.Post || s.preset == config.Watch || s.preset == config.Serve || s.preset == config.Spool
	for _, w := range rest {
		switch {
		case configArg == "" && !configured && (!posts || s.namesConfig(w)):
			configArg = w
		case posts:
			s.paths = append(s.paths, w)
		default:
			return "", fmt.Errorf("too many arguments: %q", w)
		}
	}
	return configArg, nil
}

// namesConfig tells a configuration from a path to announce: a file called so is a path
// unless it ends in .conf, anything else is looked up. What ends in .conf and is nowhere is
// a configuration that is missing, not a file that was removed. Behind an action, a
// configuration goes before a file of its name.
func (s *session) namesConfig(w string) bool {
	if strings.ContainsRune(w, '/') && !strings.HasSuffix(w, ".conf") {
		return false
	}
	at := w
	if !filepath.IsAbs(at) {
		at = filepath.Join(s.Env.Cwd, w)
	}
	_, err := s.Env.FindConfig(s.preset.String(), w)
	if _, statErr := os.Stat(at); statErr == nil && !(s.acting && err == nil) {
		return strings.HasSuffix(w, ".conf")
	}
	segment := s.preset == config.Spool && w == "-" // any other would have been found
	return err == nil || strings.HasSuffix(w, ".conf") || s.preset == config.Spool && !segment
}
