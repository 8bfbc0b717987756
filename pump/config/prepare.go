package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const firstDefault = `# default.conf: options for all components, one a line.
# sr_options(5) lists them. Later files and the command line come after it.
#
# broker amqps://user@pump.example/
`

const firstCredentials = `# credentials.conf: users and passwords, one URL a line. See sr_credentials(5).
# Nobody but its owner should be able to read it.
#
# amqps://user:password@pump.example/
# sftp://user@files.example/ ssh_keyfile=/home/user/.ssh/id_ed25519

amqps://anonymous:anonymous@dd.weather.gc.ca/
`

// Prepare makes the configuration directory with a default.conf, a
// credentials.conf only its owner can read, and plugins/, as far as they are
// missing. What is there stays as it is, and no file is ever seen half
// written. It is for commands that make configurations; reading needs none of
// this.
func Prepare(env Env) error {
	dir := env.ConfigDir()
	if err := env.check(); err != nil {
		return fmt.Errorf("cannot prepare the configuration directory: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "plugins"), 0o755); err != nil {
		return fmt.Errorf("cannot make the directory %q: %w", dir, plain(err))
	}
	for _, f := range []struct {
		name, content string
		mode          fs.FileMode
	}{
		{"default.conf", firstDefault, 0o644},
		{"credentials.conf", firstCredentials, 0o600},
	} {
		if err := createOnce(filepath.Join(dir, f.name), f.content, f.mode); err != nil {
			return fmt.Errorf("cannot make %q: %w", filepath.Join(dir, f.name), plain(err))
		}
	}
	return nil
}

// createOnce makes a file that is not there. It becomes visible complete, and
// of two processes one wins.
func createOnce(path, content string, mode fs.FileMode) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err = f.WriteString(content); err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Link(f.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
