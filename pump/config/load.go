package config

import (
	"fmt"
	"maps"
	"path/filepath"
)

// Request says what to load.
type Request struct {
	Env       Env
	Preset    Preset     // exactly one
	ConfigArg string     // name or path of the configuration; empty takes the last "config" of Args, or none
	Args      [][]string // options of the command line, from NormalizeArgs
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
	Credentials *Credentials
	StateRoot   string // the option state_dir made absolute, or the cache directory
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
	path, name, err := req.locate()
	p := newParser(req.Env, req.Preset, name)
	if err != nil {
		p.fail("", err.Error(), "")
	}
	p.pin(req.Args)
	for _, shared := range []string{"default.conf", "admin.conf", req.Preset.String() + ".conf"} {
		p.readFile(filepath.Join(req.Env.ConfigDir(), shared), false)
	}
	p.insist()
	p.commandLine(req.Args)
	p.file = ""
	if path != "" {
		p.readFile(path, true)
	}
	p.finish()
	c := p.config(path)
	credentials, problems := LoadCredentials(filepath.Join(req.Env.ConfigDir(), "credentials.conf"))
	c.Credentials = credentials
	return c, append(p.problems, problems...)
}

// locate finds the configuration; no argument at all means there is none.
func (req Request) locate() (path, name string, err error) {
	if err := req.Env.check(); err != nil {
		return "", nameless, err
	}
	arg := req.ConfigArg
	for _, words := range req.Args {
		if words[0] == "config" && len(words) > 1 && req.ConfigArg == "" {
			arg = words[1]
		}
	}
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
		pinned: make(map[string]bool), below: make(map[string]setting), added: make(map[string][]string),
	}
}

// insist sets again the defaults a component has of its own, which the shared
// files cannot change (Option.Fixed). People rely on a "mirror off" for all
// leaving sr_sarra as it is; in the component's own file it is worth a word.
func (p *parser) insist() {
	settings := p.values.set
	for i := range p.values.index.rows {
		o := &p.values.index.rows[i]
		if _, ok := o.override(p.values.preset); !o.Fixed || !ok {
			continue
		}
		said, ok := settings[o.Name]
		if p.pinned[o.Name] {
			said, ok = p.below[o.Name]
			delete(p.below, o.Name)
		} else {
			delete(settings, o.Name)
		}
		if ok && said.origin != OriginDefault && p.isComponentFile(said.origin) {
			p.warn(o.Name, fmt.Sprintf("%s: option %q has no effect here", said.origin, o.Name),
				fmt.Sprintf("%s insists on its own; set it in the configuration itself", p.values.preset.Program()))
		}
	}
}

func (p *parser) isComponentFile(origin string) bool {
	file := filepath.Join(p.env.ConfigDir(), p.values.preset.String()+".conf") + ":"
	return len(origin) > len(file) && origin[:len(file)] == file
}

// finish adds the lists of the command line and settles how strict to be.
func (p *parser) finish() {
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
	root := p.values.String("state_dir")
	if root == "" {
		root = p.env.CacheDir()
	}
	return &Config{
		Preset: p.values.preset, Name: p.name, Path: path, Values: p.values,
		Rules: p.rules, Final: p.capture(), Bindings: p.finalBindings(),
		Unknown: maps.Clone(p.unknown), Environ: maps.Clone(p.environ),
		Files: p.read, StateRoot: p.env.abs(root),
	}
}
