package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"srpump/pump/config"
)

// addFiles copies examples, or files, to the configurations of the component. What is there is
// never replaced.
func (s *session) addFiles(_ context.Context, args []string) error {
	if len(args) == 0 {
		return usagef("add needs the name of an example or a file; there are: %s", strings.Join(s.exampleNames(), " "))
	}
	for _, arg := range args {
		if err := s.addFile(arg); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) addFile(arg string) error {
	name := config.ConfigName(arg)
	if err := config.CheckName(name); err != nil {
		return usageError{fmt.Errorf("cannot add %q: %w", arg, err)}
	}
	text, mode, err := readFile(s.absolute(arg))
	if err != nil {
		mode = ordinary
		if text, err = s.example(name); err != nil {
			return usagef("cannot add %q: it is no file and no example; there are: %s", arg, strings.Join(s.exampleNames(), " "))
		}
	}
	to, err := s.newFile(name)
	if err != nil {
		return err
	}
	if err := create(to, text, mode); err != nil {
		return fmt.Errorf("cannot add %q: %w", arg, err)
	}
	s.sayf("added %s", to)
	return nil
}

func (s *session) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.Env.Cwd, path)
}

// newFile is the path of a configuration that does not exist yet, enabled or not.
func (s *session) newFile(name string) (string, error) {
	if err := config.Prepare(s.Env); err != nil {
		return "", err
	}
	if err := os.MkdirAll(s.configDir(), 0o755); err != nil {
		return "", fmt.Errorf("cannot make a configuration: %w", err)
	}
	at := filepath.Join(s.configDir(), name+".conf")
	for _, path := range []string{at, at + ".off"} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return "", usagef("there is a configuration %q already: %s", name, path)
		}
	}
	return at, nil
}

// ordinary is who may read a configuration that nobody gave a mode.
const ordinary fs.FileMode = 0o644

// readFile reads a file, and who may read it.
func readFile(path string) (text []byte, mode fs.FileMode, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	text, err = io.ReadAll(f)
	return text, info.Mode().Perm(), err
}

// create makes a file that is not there; it is seen complete or not at all, and by nobody who may not.
func create(path string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

// editFile has the editor of the user edit a configuration, made if it is missing, and checks
// what came of it.
func (s *session) editFile(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usagef("edit needs the name of one configuration")
	}
	path, err := s.Env.FindConfig(s.preset.String(), args[0])
	made := false
	if errors.Is(err, config.ErrNoConfig) {
		if path, err = s.newFile(config.ConfigName(args[0])); err == nil {
			err, made = create(path, nil, ordinary), true
		}
	}
	if err != nil {
		return usageError{err}
	}
	// The editor may be a command with arguments; the name of the file is none of it.
	cmd := exec.CommandContext(ctx, "sh", "-c", s.editor()+` "$1"`, "sh", path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Stdin, s.Stdout, s.Stderr
	if err := cmd.Run(); err != nil {
		if info, e := os.Stat(path); made && e == nil && info.Size() == 0 {
			err = errors.Join(err, os.Remove(path)) // an empty one can be started
		}
		return fmt.Errorf("cannot edit %q: %w", path, err)
	}
	return s.check([]string{path})
}

func (s *session) editor() string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if s.Env.Lookup != nil {
			if e, ok := s.Env.Lookup(name); ok && e != "" {
				return e
			}
		}
	}
	return "vi"
}
