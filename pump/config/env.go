package config

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// Env is all this package sees of the machine, so that a test, or a program
// serving several users, can hand in another.
type Env struct {
	Home     string                      // absolute
	Cwd      string                      // absolute; where the command was started
	Hostname string                      // for ${HOSTNAME}
	RandID   string                      // for ${RANDID}: four hexadecimal digits, the same for a whole process
	Lookup   func(string) (string, bool) // environment variables; nil has none
}

// HostEnv returns the Env of this process. It fails when the process has no
// home or no working directory.
func HostEnv() (Env, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Env{}, fmt.Errorf("cannot find the home directory: %w; set HOME, also where a supervisor or cron starts this", err)
	}
	cwd, err := os.Getwd()
	if err != nil {
		return Env{}, fmt.Errorf("cannot find the working directory: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return Env{}, fmt.Errorf("cannot find the name of the host: %w", err)
	}
	var id [2]byte
	rand.Read(id[:])
	return Env{Home: home, Cwd: cwd, Hostname: host, RandID: hex.EncodeToString(id[:]), Lookup: os.LookupEnv}, nil
}

func (e Env) lookup(name string) (string, bool) {
	if e.Lookup == nil {
		return "", false
	}
	return e.Lookup(name)
}

// AppName is "sarra", or the value of SR_DEV_APPNAME.
func (e Env) AppName() string {
	if name, _ := e.lookup("SR_DEV_APPNAME"); name != "" {
		return name
	}
	return "sarra"
}

// ConfigDir is $XDG_CONFIG_HOME/sarra or ~/.config/sarra.
func (e Env) ConfigDir() string { return e.xdg("XDG_CONFIG_HOME", ".config") }

// CacheDir is $XDG_CACHE_HOME/sarra or ~/.cache/sarra: where state is kept
// unless the option state_dir says otherwise.
func (e Env) CacheDir() string { return e.xdg("XDG_CACHE_HOME", ".cache") }

// SiteDir is /etc/xdg/sarra: configurations of the whole host.
func (e Env) SiteDir() string { return filepath.Join("/etc/xdg", e.AppName()) }

// xdg ignores relative paths, as the XDG base directory specification asks.
func (e Env) xdg(variable, under string) string {
	if base, _ := e.lookup(variable); filepath.IsAbs(base) {
		return filepath.Join(base, e.AppName())
	}
	return filepath.Join(e.Home, under, e.AppName())
}

func (e Env) check() error {
	if !filepath.IsAbs(e.Home) {
		return fmt.Errorf("home directory %q is not an absolute path", e.Home)
	}
	if err := CheckName(e.AppName()); err != nil {
		return fmt.Errorf("cannot use SR_DEV_APPNAME: %w", err)
	}
	return nil
}

// maxName keeps sr_subscribe_<name>_00.retry.state and its like below the 255
// bytes of a file name.
const maxName = 150

// CheckName refuses what must not become part of a file or queue name: an
// empty or overlong name, one that begins with a dot or a dash, and any
// character but letters, digits and . _ - + = @ , ~
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("the name is empty")
	case len(name) > maxName:
		return fmt.Errorf("the name %.20q... is longer than %d bytes", name, maxName)
	case name[0] == '.' || name[0] == '-':
		return fmt.Errorf("the name %q begins with %q", name, name[:1])
	}
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-+=@,~", r) || r == unicode.ReplacementChar {
			return fmt.Errorf("the name %q holds the character %q", name, r)
		}
	}
	return nil
}

// ConfigName returns the name of a configuration from its path: the last
// element without .conf or .inc.
func ConfigName(path string) string {
	name := filepath.Base(path)
	for _, ext := range []string{".conf", ".inc"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// ErrNoConfig is what FindConfig fails with when there is no such file.
var ErrNoConfig = errors.New("no such configuration")

// FindConfig returns the path of a configuration: an existing file as given,
// also with .conf; then <component>/<name>.conf in the configuration
// directory; then the same in the site directory.
func (e Env) FindConfig(component, arg string) (string, error) {
	if strings.HasPrefix(arg, "http:") || strings.HasPrefix(arg, "https:") {
		return "", fmt.Errorf("cannot read the configuration %q: fetch it to a file first", Redact(arg))
	}
	given := e.abs(arg)
	name := ConfigName(arg)
	if err := CheckName(name); err != nil && !isFile(given) {
		return "", fmt.Errorf("cannot use the configuration %q: %w", arg, err)
	}
	home, site := filepath.Join(e.ConfigDir(), component), filepath.Join(e.SiteDir(), component)
	for _, path := range []string{given, given + ".conf",
		filepath.Join(home, name+".conf"), filepath.Join(site, name+".conf")} {
		if isFile(path) {
			return path, nil
		}
	}
	if off := filepath.Join(home, name+".conf.off"); isFile(off) {
		return "", fmt.Errorf("cannot use the configuration %q: it is disabled (%s): %w", arg, off, ErrNoConfig)
	}
	return "", fmt.Errorf("cannot find the configuration %q here, in %s or in %s: %w", arg, home, site, ErrNoConfig)
}

func (e Env) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(e.Cwd, path)
}

// isFile accepts pipes, so that a shell's <(...) can be a configuration.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0)
}
