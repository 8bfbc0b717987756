package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Request says what to load.
type Request struct {
	Env       Env
	Preset    Preset     // exactly one
	ConfigArg string     // name or path of the configuration; empty takes the last "config" of Args, or none
	Args      [][]string // options of the command line, from NormalizeArgs
	// Paths are arguments to add to the option path as they are: no ${...} in
	// a file's name is replaced.
	Paths []string
}

// Config is all that files and command line say.
type Config struct {
	Preset  Preset
	Name    string // of the configuration; "default" when there is none
	Path    string // of the configuration; empty when there is none
	Values  Values
	Rules   []Rule  // in the order to ask them
	Final   Capture // in force at the end, for what no rule matches
	Unknown map[string][]string
	// Environ holds the variables of "declare env", for hooks.
	Environ     map[string]string
	Bindings    []Binding // none after "subtopic none"
	Files       []string  // read, in order
	Lines       []Line    // of known options, in the order they took effect
	Credentials *Credentials
	Home        string // of the user, absolute; ~/.ssh is there
	StateRoot   string // where state is kept, absolute: state_dir and statehost are in it
}

// AcceptsUnmatched says what becomes of an announcement no rule matches:
// accept_unmatch, except that without any rule everything is accepted unless
// accept_unmatch was set to off.
func (c *Config) AcceptsUnmatched() bool {
	if len(c.Rules) == 0 && !c.Values.Set("accept_unmatch") {
		return true
	}
	return c.Values.Bool("accept_unmatch")
}

// State names the files this configuration keeps.
func (c *Config) State() State {
	return State{Root: c.StateRoot, Component: c.Preset.String(), Config: c.Name}
}

// nameless is the configuration's name when there is none.
const nameless = "default"

// Load reads everything in the order of the package comment. It always
// returns a Config with whatever could be understood; Failed tells whether
// the problems forbid using it.
func Load(req Request) (*Config, []Problem) {
	if err := req.Env.check(); err != nil {
		p := newParser(req.Env, req.Preset, nameless)
		p.fail("", err.Error(), "")
		return p.config(""), p.problems
	}
	arg, args := req.configArg()
	path, name, err := req.locate(arg)
	p := newParser(req.Env, req.Preset, name)
	if err != nil {
		p.fail("", err.Error(), "")
	}
	p.pin(args)
	for _, shared := range []string{"default.conf", "admin.conf", req.Preset.String() + ".conf"} {
		p.readFile(filepath.Join(req.Env.ConfigDir(), shared), false)
	}
	p.insist()
	p.commandLine(args)
	if path != "" {
		p.readFile(path, true)
	}
	p.finish(req.Paths)
	c := p.config(path)
	credentials, problems := LoadCredentials(filepath.Join(req.Env.ConfigDir(), "credentials.conf"))
	c.Credentials = credentials
	return c, append(p.problems, problems...)
}

// configArg takes the last "config" out of the options when no argument names
// the configuration; any other is an include.
func (req Request) configArg() (arg string, args [][]string) {
	if req.ConfigArg != "" {
		return req.ConfigArg, req.Args
	}
	for i := len(req.Args) - 1; i >= 0; i-- {
		if words := req.Args[i]; words[0] == "config" && len(words) > 1 {
			return words[1], slices.Concat(req.Args[:i], req.Args[i+1:])
		}
	}
	return "", req.Args
}

// locate finds the configuration; no argument at all means there is none.
func (req Request) locate(arg string) (path, name string, err error) {
	if arg == "" {
		return "", nameless, nil
	}
	if path, err = req.Env.FindConfig(req.Preset.String(), arg); err != nil {
		return "", nameless, err
	}
	name = ConfigName(path)
	if err = CheckName(name); err != nil {
		return "", nameless, fmt.Errorf("cannot use the configuration %q: %w", path, err)
	}
	return path, name, nil
}

func newParser(env Env, preset Preset, name string) *parser {
	return &parser{
		env: env, name: name, component: filepath.Join(env.ConfigDir(), preset.String()),
		values:  newValues(preset),
		unknown: make(map[string][]string), environ: make(map[string]string),
		pinned: make(map[string]setting), below: make(map[string]setting), added: make(map[string][]string),
	}
}

// insist sets again the defaults a component has of its own, which the shared
// files cannot change (Option.Fixed). People rely on a "mirror off" for all
// leaving sr_sarra as it is; in the component's own file it is worth a word.
func (p *parser) insist() {
	for i := range p.values.index.rows {
		o := &p.values.index.rows[i]
		if _, ok := o.override(p.values.preset); !o.Fixed || !ok {
			continue
		}
		settings := p.values.set
		if _, pinned := p.pinned[o.Name]; pinned {
			settings = p.below
		}
		said, ok := settings[o.Name]
		delete(settings, o.Name)
		if ok && p.isComponentFile(said.origin) {
			p.warn(o.Name, fmt.Sprintf("%s: option %q has no effect here", said.origin, o.Name),
				fmt.Sprintf("%s insists on its own; set it in the configuration itself", p.values.preset.Program()))
		}
	}
}

func (p *parser) isComponentFile(origin string) bool {
	file := filepath.Join(p.env.ConfigDir(), p.values.preset.String()+".conf") + ":"
	return strings.HasPrefix(origin, file)
}

// finish adds the lists of the command line and settles how strict to be.
func (p *parser) finish(paths []string) {
	p.settleBuiltins()
	p.settleHooks()
	if p.values.Bool("pipe") {
		p.added["path"] = append(p.added["path"], "-")
	}
	if len(paths) > 0 {
		p.added["path"] = append(p.added["path"], paths...)
	}
	for name, items := range p.added {
		o, _ := p.values.index.find(name)
		p.append(o, items, CommandLine)
	}
	if p.values.String("unknown_options") != "error" {
		return
	}
	for i := range p.problems {
		if p.problems[i].unknown {
			p.problems[i].Severity = Error
			p.problems[i].Hint = ""
		}
	}
}

func (p *parser) config(path string) *Config {
	return &Config{
		Preset: p.values.preset, Name: p.name, Path: path, Values: p.values,
		Rules: p.rules, Final: p.capture(), Bindings: p.finalBindings(),
		Unknown: maps.Clone(p.unknown), Environ: maps.Clone(p.environ),
		Files: p.read, Lines: p.lineList, StateRoot: p.stateRoot(), Home: p.env.Home,
	}
}

// stateRoot is the option state_dir or the cache directory, and with statehost
// the directory of this host in it.
func (p *parser) stateRoot() string {
	root := p.values.String("state_dir")
	if root == "" {
		root = p.env.CacheDir()
	}
	host := p.env.Hostname
	switch p.values.String("statehost") {
	case "off":
		host = ""
	case "on":
		host, _, _ = strings.Cut(host, ".")
	}
	return filepath.Join(p.env.abs(root), host)
}
