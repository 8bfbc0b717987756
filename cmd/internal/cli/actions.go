package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"srpump/pump/config"
)

// An action is a word in front of the configuration that says what to do with it; without
// one, the configuration is run in the foreground.
type action struct {
	name string
	args string // what may follow, for the help
	help string
	// run does it. The session has its options (words) and preset; no configuration is
	// read yet. The error becomes the exit status.
	run func(ctx context.Context, s *session, args []string) error
}

// foreground is the action of who gives none.
const foreground = "foreground"

// Actions are all actions of a command, in the order of the manual.
func actions(p config.Preset) []action {
	return slices.Concat(processActions(p), progressActions(p), explainActions(p), fileActions(p), topologyActions(p), retryActions(p))
}

// findAction returns nil for foreground.
func findAction(p config.Preset, name string) (*action, bool) {
	for _, a := range actions(p) {
		if a.name == name {
			return &a, true
		}
	}
	return nil, name == foreground
}

// action takes the action off the arguments: the first word, or -action, or, in the old order
// of configuration and action, the last of two. It is nil for the foreground.
func (s *session) action(rest []string) (*action, []string, error) {
	if i := slices.IndexFunc(s.words, func(w []string) bool { return w[0] == "action" && len(w) > 1 }); i >= 0 {
		a, ok := findAction(s.preset, s.words[i][1])
		if !ok {
			return nil, nil, fmt.Errorf("no action %q", s.words[i][1])
		}
		s.acting = true
		return a, rest, nil
	}
	if len(rest) == 0 {
		return nil, rest, nil
	}
	if a, ok := findAction(s.preset, rest[0]); ok {
		s.acting = true
		return a, rest[1:], nil
	}
	if len(rest) == 2 && (s.preset != config.Post || s.namesConfig(rest[0]) && !exists(filepath.Join(s.Env.Cwd, rest[1]))) {
		if a, ok := findAction(s.preset, rest[1]); ok {
			s.warningf("write the action first: %s %s %s", s.program, rest[1], rest[0])
			return a, rest[:1], nil
		}
	}
	return nil, rest, s.mistaken(rest)
}

// mistaken is the error of a word to sr_post that is an action of the other commands and no file: it is
// no file that was removed.
func (s *session) mistaken(rest []string) error {
	if s.preset != config.Post {
		return s.elsewhere(rest[0])
	}
	for _, w := range rest {
		if _, known := findAction(config.Watch, w); known && !exists(filepath.Join(s.Env.Cwd, w)) {
			return fmt.Errorf("no action %q: sr_post announces and ends; a file of that name, which is gone, is ./%s", w, w)
		}
	}
	return nil
}

// elsewhere is the error of a first word that is an action of other commands and no configuration.
func (s *session) elsewhere(word string) error {
	if s.namesConfig(word) || exists(filepath.Join(s.Env.Cwd, word)) {
		return nil
	}
	var have []string
	for _, p := range config.Presets() {
		if _, known := findAction(p, word); known {
			have = append(have, p.Program())
		}
	}
	if have == nil {
		return nil
	}
	return fmt.Errorf("no action %q: %s have it", word, strings.Join(have, ", "))
}

// perform runs an action other than foreground.
func (s *session) perform(ctx context.Context, a *action, args []string) int {
	err := a.run(ctx, s, args)
	if err == nil {
		return ExitOK
	}
	if !told(err) {
		s.fail(err)
	}
	return status(err)
}

// errSaid is a failure that was told already, where it was found.
var errSaid = errors.New("said already")
