package hook

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"srpump/pump/config"
)

// A Maker makes one hook of those that are built in.
type Maker func(Env) (Hook, error)

// An Env is what a hook may look at of the configuration it stands in.
type Env struct {
	Option  string // where it was named, such as on_message
	Values  config.Values
	Own     config.Values       // options of a hook that is built in
	Unknown map[string][]string // options that are for hooks alone
	State   string              // directory of what is kept between runs; it may be missing
	Dir     string              // working directory
	Log     *slog.Logger
	Now     func() time.Time
}

// errUnknown is a name no hook has.
var errUnknown = errors.New("there is no hook of that name")

// New makes the hooks of a configuration. Nothing is started before it has something to do. What
// cannot be run is an error for each line, or with plugin_missing ignore left out with a warning.
func New(c *config.Config, builtins map[string]Maker, env Env) (*Set, error) {
	s := &Set{chains: make(map[string]*Chain)}
	env.Values, env.Unknown = c.Values, c.Unknown
	var errs []error
	for _, point := range config.HookOptions() {
		origins := c.Values.Origins(point)
		for i, line := range c.Values.List(point) {
			h, points, err := s.hook(line, point, builtins, env)
			switch {
			case errors.Is(err, errUnknown): // done anyway, or reading the configuration has refused it
			case err != nil && c.Values.String("plugin_missing") == "ignore":
				env.Log.Warn("hook left out", "option", point, "hook", config.RedactCommand(line), "error", err)
			case err != nil:
				errs = append(errs, &LineError{Option: point, Origin: origins[i], Err: fmt.Errorf("option %q: cannot run %.80q: %w", point, config.RedactCommand(line), err)})
			case h != nil:
				s.add(points, line, h)
			}
		}
	}
	if len(s.all) == 0 {
		return nil, errors.Join(errs...)
	}
	return s, errors.Join(errs...)
}

// A LineError is what is wrong with one line that names a hook.
type LineError struct {
	Option string
	Origin string // of the line, as config.Values.Origins has it
	Err    error
}

func (e *LineError) Error() string { return e.Err.Error() }
func (e *LineError) Unwrap() error { return e.Err }

// hook makes the hook of one line, and says at which points it is run.
func (s *Set) hook(line, point string, builtins map[string]Maker, env Env) (Hook, []string, error) {
	env.Option = point
	if kind, command, ok := Command(line); ok {
		h, err := program(kind, command, env)
		return h, pointsOf(point), err
	}
	b, named := config.FindBuiltin(line)
	maker := builtins[b.Name]
	if !named || maker == nil {
		return nil, nil, errUnknown
	}
	points, err := b.At(point)
	if err != nil {
		return nil, nil, err
	}
	if env.Own, err = b.Read(env.Unknown); err != nil {
		return nil, nil, err
	}
	h, err := maker(env)
	return h, points, err
}

// program makes the hook of a command.
func program(kind, command string, env Env) (Hook, error) {
	words, err := splitWords(command)
	switch {
	case err != nil:
		return nil, err
	case env.Option == Plugin && kind == "cmd":
		return nil, errors.New("a plugin is asked at every point, which takes an exec: and no cmd: program")
	case kind == "exec":
		return newCoprocess(words, env)
	}
	return newCommand(words, env)
}

// Command takes the line of a hook apart that is a program: exec or cmd, and what is to be run. Words
// before it (the schemes of do_download and its like) are not part of either.
func Command(line string) (kind, command string, ok bool) {
	_, line = Schemes(line)
	for _, kind := range []string{"exec", "cmd"} {
		if command, ok = strings.CutPrefix(line, kind+":"); ok {
			return kind, command, true
		}
	}
	return "", "", false
}

// Schemes are the kinds of URL a line is for: its first word, cut at commas, where the program is the
// second. Without them it is for all nothing here knows.
func Schemes(line string) (schemes []string, rest string) {
	first, rest, two := strings.Cut(line, " ")
	if !two || strings.Contains(first, ":") || !strings.HasPrefix(rest, "exec:") && !strings.HasPrefix(rest, "cmd:") {
		return nil, line
	}
	return strings.Split(strings.ToLower(first), ","), rest
}

// add puts a hook at its points.
func (s *Set) add(points []string, line string, h Hook) {
	s.all = append(s.all, h)
	if schemes, _ := Schemes(line); schemes != nil {
		h = forSchemes{h, schemes}
	}
	for _, p := range points {
		if s.chains[p] == nil {
			s.chains[p] = &Chain{point: p}
		}
		s.chains[p].hooks = append(s.chains[p].hooks, link{h, config.RedactCommand(line)})
	}
}

// pointsOf are those at which the programs of an option are run: of the option plugin every point an event
// comes by.
func pointsOf(option string) []string {
	if option == Plugin {
		return everyPoint()
	}
	return []string{option}
}

// everyPoint are those at which a plugin is asked.
func everyPoint() []string {
	return []string{OnStart, OnStop, OnHeartbeat, OnMessage, OnData, OnPart, OnFile, OnPost, OnReport, OnWatch, OnLine, OnHTMLPage}
}
