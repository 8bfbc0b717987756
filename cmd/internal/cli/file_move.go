package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"srpump/pump/config"
	"srpump/pump/daemon"
)

func (s *session) enableFiles(_ context.Context, args []string) error {
	return s.switchFiles("enable", args, ".conf.off", ".conf")
}

func (s *session) disableFiles(_ context.Context, args []string) error {
	return s.switchFiles("disable", args, ".conf", ".conf.off")
}

// switchFiles gives configurations that do not run another ending.
func (s *session) switchFiles(verb string, args []string, from, to string) error {
	if len(args) == 0 {
		return usagef("%s needs the name of a configuration", verb)
	}
	for _, arg := range args {
		name, err := s.plainName(arg)
		if err != nil {
			return err
		}
		old, new := filepath.Join(s.configDir(), name+from), filepath.Join(s.configDir(), name+to)
		if !exists(old) && exists(new) {
			s.sayf("%s is %sd already", name, verb)
			continue
		}
		if !exists(old) {
			return usagef("cannot %s %q: there is no %s", verb, name, old)
		}
		if err := s.idle(verb, name); err != nil {
			return err
		}
		if err := moveFile(old, new); err != nil {
			return fmt.Errorf("cannot %s %q: %w", verb, name, err)
		}
		s.sayf("%sd %s", verb, new)
	}
	return nil
}

// plainName is the name of a configuration of the user's directory. A path that leads elsewhere is
// refused: what bears the same name here was not meant.
func (s *session) plainName(arg string) (string, error) {
	if at := filepath.Join(s.Env.Cwd, filepath.Dir(arg)); strings.ContainsRune(arg, '/') && filepath.Dir(arg) != s.configDir() && at != s.configDir() {
		return "", usagef("%q is not in %s", arg, s.configDir())
	}
	name := config.ConfigName(strings.TrimSuffix(filepath.Base(arg), ".off"))
	if err := config.CheckName(name); err != nil {
		return "", usageError{err}
	}
	return name, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// moveFile renames a file and replaces none.
func moveFile(from, to string) error {
	if err := os.Link(from, to); err != nil {
		return err
	}
	return os.Remove(from)
}

// stateOf is where a configuration keeps its state, as far as it can be read.
func (s *session) stateOf(name string) config.State {
	req := config.Request{Env: s.Env, Preset: s.preset, Args: s.words}
	if path := filepath.Join(s.configDir(), name+".conf"); exists(path) {
		req.ConfigArg = path
	}
	cfg, _ := config.Load(req)
	s.cfg = cfg
	st := cfg.State()
	st.Config = name
	return st
}

// idle fails while a process runs the configuration.
func (s *session) idle(verb, name string) error {
	st := s.stateOf(name)
	h, held, err := daemon.Find(st)
	switch {
	case err != nil:
		return err
	case held:
		return fmt.Errorf("cannot %s %q: %w; %s stop %s first", verb, name, &daemon.Busy{Holder: h, Dir: st.Dir()}, s.program, name)
	}
	if pid, found := daemon.Stranger(st); found {
		return s.strange(pid)
	}
	return nil
}

// renameFile gives a configuration another name: its file, its state and its logs, in this
// order. What a crash cut short is finished when it is asked for again.
func (s *session) renameFile(_ context.Context, args []string) error {
	if len(args) != 2 {
		return usagef("rename needs the name of a configuration and a new one")
	}
	from, err := s.plainName(args[0])
	if err != nil {
		return err
	}
	to, err := s.plainName(args[1])
	if err != nil {
		return err
	}
	old, new := filepath.Join(s.configDir(), from+".conf"), filepath.Join(s.configDir(), to+".conf")
	st := s.stateOf(from)
	next := st
	next.Config = to
	resumed := !exists(old) && exists(new) && (exists(st.Dir()) || len(logsOf(st)) > 0)
	switch {
	case !exists(old) && !resumed:
		return usagef("cannot rename %q: there is no %s", from, old)
	case exists(old) && (exists(new) || exists(new+".off")), exists(st.Dir()) && exists(next.Dir()):
		return usagef("cannot rename %q: there is a configuration or state of the name %q", from, to)
	}
	if err := s.idle("rename", from); err != nil {
		return err
	}
	if !resumed {
		if err := moveFile(old, new); err != nil {
			return fmt.Errorf("cannot rename %q: %w", from, err)
		}
	}
	if err := moveState(st, next); err != nil {
		return fmt.Errorf("cannot rename the state of %q: %w; ask again to finish it", from, err)
	}
	s.sayf("renamed %s to %s", from, new)
	return nil
}

// moveState renames the files of a state directory that have the configuration in their names, then
// the directory, then the logs. Every step may have been done before.
func moveState(st, next config.State) error {
	entries, err := os.ReadDir(st.Dir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if name := renamed(e.Name(), st, next); name != e.Name() {
			if err := os.Rename(filepath.Join(st.Dir(), e.Name()), filepath.Join(st.Dir(), name)); err != nil {
				return err
			}
		}
	}
	if len(entries) > 0 || exists(st.Dir()) {
		if err := os.Rename(st.Dir(), next.Dir()); err != nil {
			return err
		}
	}
	for _, l := range logsOf(st) {
		if err := os.Rename(l, filepath.Join(st.LogDir(), renamed(filepath.Base(l), st, next))); err != nil {
			return err
		}
	}
	return nil
}

// renamed is the name of a file that may hold that of its configuration.
func renamed(file string, st, next config.State) string {
	for _, sep := range []string{".", "_"} {
		rest, ok := strings.CutPrefix(file, "sr_"+st.Component+sep+st.Config)
		if ok && rest != "" && strings.ContainsAny(rest[:1], "._") {
			return "sr_" + next.Component + sep + next.Config + rest
		}
	}
	return file
}

// logsOf are the logs of all instances, today's and those put away.
func logsOf(st config.State) []string {
	found, _ := filepath.Glob(filepath.Join(st.LogDir(), fmt.Sprintf("sr_%s_%s_[0-9][0-9].log*", st.Component, st.Config)))
	return found
}

// removeFile deletes a configuration that does not run, with what it has on the broker and on
// disk. The file goes last, so that what failed can be done again.
func (s *session) removeFile(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usagef("remove needs the name of one configuration")
	}
	name, err := s.plainName(args[0])
	if err != nil {
		return err
	}
	path := filepath.Join(s.configDir(), name+".conf")
	switch {
	case exists(path):
	case exists(path + ".off"): // its file, which is not read, says what it has on the broker
		return usagef("cannot remove %q: it is disabled; %s enable %s first", name, s.program, name)
	default:
		return usagef("cannot remove %q: there is no %s", name, path)
	}
	return s.withConfig([]string{path}, func() error {
		if err := s.idle("remove", name); err != nil {
			return err
		}
		release, err := s.lockState()
		if err != nil {
			return err
		}
		defer release()
		if err := s.atBroker(ctx, topology.Cleanup); err != nil {
			return err
		}
		for _, l := range logsOf(s.cfg.State()) {
			if err := os.Remove(l); err != nil {
				return fmt.Errorf("cannot remove log: %w", err)
			}
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("cannot remove %q: %w", name, err)
		}
		s.sayf("removed %s", path)
		return nil
	})
}
