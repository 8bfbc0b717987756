package sftp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	sshconfig "github.com/kevinburke/ssh_config"
)

// host is an address as ~/.ssh/config completes it (ssh_config(5)).
type host struct {
	user, password string
	name, port     string   // what is dialled, and looked up in known_hosts
	keyFiles       []string // absolute; those that are not there are left out
	onlyKeys       bool     // IdentitiesOnly: no other key of the agent is offered
	jumps          []string // ProxyJump, as [user@]host[:port]
	knownHosts     []string
	unchecked      bool // the configuration says StrictHostKeyChecking no, which is not followed
}

// errProxyCommand is a configuration of which half would be ignored.
var errProxyCommand = errors.New("its ProxyCommand is not supported; ProxyJump is")

// settings answers for one host name what its configuration says.
type settings struct {
	config *sshconfig.Config // nil where there is none
	host   string
}

// readConfig reads ~/.ssh/config; one that is not there says nothing.
func (o *Options) readConfig() (*sshconfig.Config, error) {
	file, err := os.Open(o.Config)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration of ssh: %w", err)
	}
	defer file.Close()
	c, err := sshconfig.Decode(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", o.Config, err)
	}
	return c, nil
}

func (s settings) get(key string) string {
	if s.config == nil {
		return ""
	}
	v, _ := s.config.Get(s.host, key) // it fails for kinds of line that Decode does not make
	return strings.Trim(v, `"`)
}

func (s settings) all(key string) []string {
	if s.config == nil {
		return nil
	}
	v, _ := s.config.GetAll(s.host, key)
	for i := range v {
		v[i] = strings.Trim(v[i], `"`)
	}
	return v
}

// complete is an address as the configuration completes it.
func (o *Options) completeHost(a address) (host, error) {
	config, err := o.readConfig()
	if err != nil {
		return host{}, err
	}
	s := settings{config, a.host}
	if c := s.get("ProxyCommand"); c != "" && c != "none" {
		return host{}, errProxyCommand
	}
	h := host{
		user: first(a.user, s.get("User"), currentUser()), password: a.password,
		name: strings.ReplaceAll(first(s.get("HostName"), a.host), "%h", a.host),
		port: first(a.port, s.get("Port"), "22"),
	}
	switch s.get("StrictHostKeyChecking") {
	case "no", "off", "accept-new":
		h.unchecked = true
	}
	if j := s.get("ProxyJump"); j != "" && j != "none" {
		h.jumps = strings.Split(j, ",")
	}
	h.knownHosts = o.knownHosts(s)
	h.keyFiles, h.onlyKeys = o.keyFiles(a, h, s)
	return h, nil
}

// keyFiles are the private keys to try, and whether no others are.
func (o *Options) keyFiles(a address, h host, s settings) (files []string, only bool) {
	if a.keyFile != "" {
		return []string{o.expand(a.keyFile, h)}, true
	}
	named := s.all("IdentityFile")
	if len(named) == 0 {
		named = []string{"~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa"}
	}
	for _, name := range named {
		path := o.expand(name, h)
		if _, err := os.Stat(path); err == nil {
			files = append(files, path)
		}
	}
	return files, s.get("IdentitiesOnly") == "yes"
}

func (o *Options) knownHosts(s settings) []string {
	named := s.get("UserKnownHostsFile")
	if named == "" {
		return o.KnownHosts
	}
	var files []string
	for _, name := range strings.Fields(named) {
		if name != "none" && name != os.DevNull {
			files = append(files, o.expand(name, host{}))
		}
	}
	if len(files) == 0 { // where a new line would be asked to go
		return o.KnownHosts
	}
	return append(files, o.KnownHosts[min(1, len(o.KnownHosts)):]...)
}

// expand is a file name of ssh_config(5): ~ and the commonest of its TOKENS.
func (o *Options) expand(name string, h host) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(o.Home, rest)
	}
	return strings.NewReplacer("%%", "%", "%d", o.Home, "%h", h.name, "%p", h.port, "%r", h.user).Replace(name)
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func currentUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}
