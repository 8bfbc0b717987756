package config

import (
	"fmt"
	"net/url"
	"path/filepath"
)

// State names the files one configuration keeps between runs. It creates
// nothing. The names are those of v02, so that state can be taken over.
type State struct {
	Root      string // the cache directory, or the option state_dir
	Component string
	Config    string // name of the configuration
}

// NewState refuses names that are not fit for a path.
func NewState(root, component, config string) (State, error) {
	for _, name := range []string{component, config} {
		if err := CheckName(name); err != nil {
			return State{}, fmt.Errorf("cannot name the state directory: %w", err)
		}
	}
	return State{Root: root, Component: component, Config: config}, nil
}

// Dir is <root>/<component>/<config>.
func (s State) Dir() string { return filepath.Join(s.Root, s.Component, s.Config) }

// LogDir is <root>/log, shared by all configurations.
func (s State) LogDir() string { return filepath.Join(s.Root, "log") }

// Log is the log file of an instance; 0 is the foreground.
func (s State) Log(instance int) string {
	return filepath.Join(s.LogDir(), s.instance(instance, "log"))
}

// Pid is the file with the process number of an instance.
func (s State) Pid(instance int) string { return s.in(s.instance(instance, "pid")) }

// Retry is the file of what an instance will try again. Names with .new,
// .state, .work and .heart behind it belong to the same queue.
func (s State) Retry(instance int) string { return s.in(s.instance(instance, "retry")) }

// Save is the file of the option save.
func (s State) Save(instance int) string { return s.in(s.instance(instance, "save")) }

// Cache is the winnowing cache of an instance.
func (s State) Cache(instance int) string {
	return s.in(fmt.Sprintf("recent_files_%03d.cache", instance))
}

// Instances is the file that remembers how many instances were started.
func (s State) Instances() string {
	return s.in("sr_" + s.Component + "_" + s.Config + ".state")
}

// QueueName is the file that remembers the name of the queue of a broker
// user. shard is the number of an exchange_split instance, or -1.
func (s State) QueueName(user string, shard int) string {
	if CheckName(user) != nil {
		user = url.PathEscape(user)
	}
	name := "sr_" + s.Component + "." + s.Config + "." + user
	if shard >= 0 {
		name += fmt.Sprintf("_%02d", shard)
	}
	return s.in(name + ".qname")
}

func (s State) instance(n int, ext string) string {
	return fmt.Sprintf("sr_%s_%s_%02d.%s", s.Component, s.Config, n, ext)
}

func (s State) in(name string) string { return filepath.Join(s.Dir(), name) }
