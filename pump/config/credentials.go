package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
)

// Credential is one line of credentials.conf, or what a URL says by itself.
// Printing it shows no secret.
type Credential struct {
	Scheme   string
	User     string
	Password Secret
	Host     string // lower case, without brackets
	Port     string // never empty where the scheme has a usual one
	Path     string // of a broker: its vhost, "/" if none was given
	KeyFile  string // ssh_keyfile
	Active   bool   // FTP: active instead of passive
	ASCII    bool   // FTP: ascii instead of binary
	TLS      bool   // FTP: ssl or tls
	ProtP    bool   // FTP: protect the data connection too
	Token    Secret // bearer_token
	// PEM files for TLS with this server: authorities to believe instead of the system's, our certificate and its key.
	CAFile, ClientCert, ClientKey string
	// Listed says that credentials.conf names this host; only then may its
	// secrets be sent there.
	Listed bool

	text string // as written, for exact hits
}

// String returns the URL with its password masked.
func (c Credential) String() string { return Redact(c.URL()) }

// GoString is String, so that no verb of fmt reaches a secret.
func (c Credential) GoString() string { return c.String() }

// URL returns the URL with its password in it: for connecting, never for
// people. What has no host, such as sqlite:///path, comes back as it was.
func (c Credential) URL() string {
	if c.Host == "" {
		return c.text
	}
	u := url.URL{Scheme: c.Scheme, Host: c.Host, Path: c.Path}
	if strings.Contains(c.Host, ":") {
		u.Host = "[" + c.Host + "]"
	}
	if c.Port != "" {
		u.Host = net.JoinHostPort(c.Host, c.Port)
	}
	switch {
	case c.Password != "":
		u.User = url.UserPassword(c.User, string(c.Password))
	case c.User != "":
		u.User = url.User(c.User)
	}
	return u.String()
}

// Credentials is a parsed credentials.conf. Its zero value is an empty one.
type Credentials struct {
	entries []Credential
}

// String says how many entries there are, and nothing of what is in them.
func (c Credentials) String() string { return fmt.Sprintf("%d credentials", len(c.entries)) }

// GoString is String.
func (c Credentials) GoString() string { return c.String() }

// LoadCredentials reads a credentials.conf. A missing one is empty and no
// problem; one that others can read draws a warning.
func LoadCredentials(path string) (*Credentials, []Problem) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Credentials{}, nil
	}
	data, err := readConfig(path)
	if err != nil {
		return &Credentials{}, []Problem{{File: path, Text: err.Error(), Severity: Error}}
	}
	credentials, problems := ParseCredentials(path, data)
	if info != nil && info.Mode().Perm()&0o077 != 0 {
		problems = append(problems, Problem{File: path, Severity: Warning,
			Text: fmt.Sprintf("others can read the passwords in it (mode %04o)", info.Mode().Perm()),
			Hint: "chmod 600 " + path})
	}
	return credentials, problems
}

// ParseCredentials reads lines of "url [option[,option...]]". Lines it cannot
// read are left out. Problems never quote what may hold a secret.
func ParseCredentials(file string, data []byte) (*Credentials, []Problem) {
	c := &Credentials{}
	var problems []Problem
	number := 0
	for raw := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		number++
		report := func(s Severity, text, hint string) {
			problems = append(problems, Problem{File: file, Line: number, Text: text, Hint: hint, Severity: s})
		}
		words, err := splitLine(string(raw))
		if err != nil {
			report(Error, "the line is not text", "")
			continue
		}
		if len(words) == 0 {
			continue
		}
		entry, err := parseCredential(words[0])
		if err != nil {
			report(Error, err.Error(), "")
			continue
		}
		for _, option := range credentialOptions(words[1:]) {
			if !entry.apply(option) {
				name, _, _ := strings.Cut(option, "=")
				report(Warning, fmt.Sprintf("unknown credential option %.40q", name), "")
			}
		}
		entry.Listed = true
		c.entries = append(c.entries, entry)
	}
	return c, problems
}

func credentialOptions(words []string) []string {
	return strings.FieldsFunc(strings.Join(words, ","), func(r rune) bool { return r == ',' })
}

func (c *Credential) apply(option string) bool {
	name, value, _ := strings.Cut(option, "=")
	switch strings.ToLower(name) {
	case "ssh_keyfile":
		c.KeyFile = value
	case "passive":
		c.Active = false
	case "active":
		c.Active = true
	case "binary":
		c.ASCII = false
	case "ascii":
		c.ASCII = true
	case "ssl", "tls":
		c.TLS = true
	case "prot_p":
		c.ProtP = true
	case "bearer_token", "bt":
		c.Token = Secret(value)
	case "ca_file":
		c.CAFile = value
	case "client_cert":
		c.ClientCert = value
	case "client_key":
		c.ClientKey = value
	default:
		return false
	}
	return true
}

func parseCredential(text string) (Credential, error) {
	u, err := url.Parse(text)
	if badPort(text) {
		return Credential{}, errPort
	}
	if err != nil {
		return Credential{}, errors.New("is not a URL: special characters in a user or password are written %XX")
	}
	if u.Scheme == "" || u.Host == "" {
		return Credential{}, errors.New("is not a URL such as scheme://user:password@host/")
	}
	c := Credential{
		Scheme: strings.ToLower(u.Scheme), User: u.User.Username(),
		Host: strings.ToLower(u.Hostname()), Port: u.Port(), Path: u.Path, text: text,
	}
	password, _ := u.User.Password()
	c.Password = Secret(password)
	if c.Port == "" {
		c.Port = usualPort(c.Scheme)
	}
	if isBroker(c.Scheme) && strings.Trim(c.Path, "/") == "" {
		c.Path = "/"
	}
	return c, nil
}

func isBroker(scheme string) bool { return scheme == "amqp" || scheme == "amqps" }

func usualPort(scheme string) string {
	switch scheme {
	case "amqp":
		return "5672"
	case "amqps":
		return "5671"
	case "http":
		return "80"
	case "https":
		return "443"
	case "ftp", "ftps":
		return "21"
	case "sftp":
		return "22"
	}
	return ""
}
