package sftp_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"srpump/pump/transfer"
	"srpump/pump/transfer/sftp"
)

// nobody gives no credentials: what ~/.ssh says is all there is.
func nobody(*url.URL) (user, password, keyFile string) { return "", "", "" }

// A name of ~/.ssh/config stands for host, port, user, key and known_hosts.
func TestConfiguredName(t *testing.T) {
	s := serving(t)
	o := options(s)
	known := o.KnownHosts[0]
	o.KnownHosts, o.Credentials, o.Home = []string{"/nonexistent"}, nobody, t.TempDir()
	o.Config = filepath.Join(o.Home, "config")
	host, port, _ := net.SplitHostPort(s.Addr)
	write(t, o.Config, fmt.Sprintf(`Host other
  User wrong
Host alias al*
  HostName %s
  Port %s
  User %s
  IdentityFile "%s"
  UserKnownHostsFile %s
`, host, port, s.User, s.KeyFile, known))
	if err := try(t, o, "alias"); err != nil {
		t.Error(err)
	}
	err := try(t, o, "other")
	if err == nil {
		t.Error("the words for another host were taken")
	}
}

func TestJumps(t *testing.T) {
	s := serving(t)
	first, second := serving(t), serving(t)
	o := options(s)
	o.KnownHosts = []string{s.KnownHosts, first.KnownHosts, second.KnownHosts}
	o.Credentials = nobody
	o.Config = filepath.Join(t.TempDir(), "config")
	host, port, _ := net.SplitHostPort(s.Addr)
	firstHost, firstPort, _ := net.SplitHostPort(first.Addr)
	config := func(jumps string) {
		write(t, o.Config, fmt.Sprintf(`Host behind
  HostName %s
  Port %s
  IdentityFile %s
  ProxyJump %s
Host one
  HostName %s
  Port %s
  IdentityFile %s
Host two
  HostName nowhere.invalid
Host *
  IdentityFile %s
`, host, port, s.KeyFile, jumps, firstHost, firstPort, first.KeyFile, second.KeyFile))
	}
	for _, jumps := range []string{"one", s.User + "@" + second.Addr, "one," + second.Addr} {
		config(jumps)
		if err := try(t, o, "behind"); err != nil {
			t.Errorf("over %s: %v", jumps, err)
		}
	}
	config("two")
	if err := try(t, o, "behind"); err == nil || !strings.Contains(err.Error(), `"two"`) {
		t.Errorf("over a host that is not there: %v", err)
	}
	config("behind")
	forbidden(t, try(t, o, "behind"), "too many")
}

func TestConfigurationNotFollowed(t *testing.T) {
	s := serving(t)
	o := options(s)
	o.Config = filepath.Join(t.TempDir(), "config")
	write(t, o.Config, "Host *\n  ProxyCommand nc %h %p\n")
	forbidden(t, try(t, o, s.Addr), "ProxyCommand")
	write(t, o.Config, "Host \"\n")
	if err := try(t, o, s.Addr); err != nil { // what the library makes of it is its own affair, but no panic
		t.Log(err)
	}
}

// A key with a passphrase is of use through an agent only; without one the error says so.
func TestLockedKey(t *testing.T) {
	s := serving(t)
	const secret = "correct horse"
	keygen(t, "-q", "-p", "-N", secret, "-f", s.KeyFile)
	err := try(t, options(s), s.Addr)
	forbidden(t, err, s.KeyFile, "passphrase", "ssh-add")
	o := options(s)
	o.Agent = startAgent(t, s.KeyFile, secret)
	if err := try(t, o, s.Addr); err != nil {
		t.Error(err)
	}
	o.Credentials = func(*url.URL) (string, string, string) { return s.User, "", "" }
	if err := try(t, o, s.Addr); err != nil {
		t.Errorf("the agent alone: %v", err)
	}
}

func TestNotLetIn(t *testing.T) {
	s := serving(t)
	o := options(s)
	o.Credentials = func(*url.URL) (string, string, string) { return s.User, "s3cret", "" }
	err := try(t, o, s.Addr)
	forbidden(t, err, s.User, "0 keys", "a password")
	o.Credentials = func(*url.URL) (string, string, string) { return s.User, "s3cret", "/nonexistent/key" }
	err2 := try(t, o, s.Addr)
	forbidden(t, err2, "/nonexistent/key")
	if strings.Contains(err.Error()+err2.Error(), "s3cret") {
		t.Errorf("the password is shown: %v, %v", err, err2)
	}
}

func TestNoSecretInErrors(t *testing.T) {
	g := sftp.New(sftp.Options{Home: "/nonexistent", Credentials: nobody, AllowHost: func(h string) bool { return h == "127.0.0.1" }})
	defer g.Close()
	for _, u := range []string{
		"sftp://bob:s3cret@127.0.0.1:1/x", "sftp://bob:s3cret/@host/x", "sftp://bob:s3cret@[::1/x", "sftp://bob:s3cret@other/x", "sftp:bob:s3cret", "sftp://bob:s3cret@127.0.0.1:1/a%00b",
	} {
		_, err := g.Get(t.Context(), transfer.Whole(u))
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", u, err)
		}
	}
	_, err := g.Get(t.Context(), transfer.Whole("sftp://other/x"))
	if transfer.ClassOf(err) != transfer.Refused || !strings.Contains(err.Error(), `"other" is not allowed`) {
		t.Errorf("a host not allowed: %v", err)
	}
}

// Passwords go both ways servers ask for them; a server that asks for more gets nothing.
func TestPassword(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*ssh.ServerConfig)
		want bool
	}{
		"password": {func(c *ssh.ServerConfig) {
			c.PasswordCallback = func(m ssh.ConnMetadata, p []byte) (*ssh.Permissions, error) {
				return nil, unless(m.User() == "bob" && string(p) == "s3cret")
			}
		}, true},
		"interactive": {func(c *ssh.ServerConfig) {
			c.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
				got, err := ask("", "", []string{"Password: "}, []bool{false})
				return nil, unless(err == nil && len(got) == 1 && got[0] == "s3cret")
			}
		}, true},
		"asks for more": {func(c *ssh.ServerConfig) {
			c.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
				got, err := ask("", "", []string{"Mother: ", "Code: "}, []bool{true, false})
				if err == nil && strings.Contains(strings.Join(got, " "), "s3cret") {
					t.Error("the password was given away")
				}
				return nil, unless(false)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "file"), "hello")
			o := hostile(t, dir, c.set, nil)
			o.Credentials = func(*url.URL) (string, string, string) { return "bob", "s3cret", "" }
			err := try(t, o.Options, o.addr)
			if c.want != (err == nil) {
				t.Errorf("got %v", err)
			}
			if err != nil {
				forbidden(t, err, `"bob"`)
			}
		})
	}
}

func unless(ok bool) error {
	if ok {
		return nil
	}
	return fmt.Errorf("no")
}

// startAgent runs an agent that holds a key.
func startAgent(t *testing.T, key, passphrase string) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "agent")
	cmd := exec.Command("ssh-agent", "-D", "-a", socket)
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	ask := filepath.Join(t.TempDir(), "ask")
	write(t, ask, "#!/bin/sh\necho '"+passphrase+"'\n")
	add := exec.Command("sh", "-c", `chmod +x "$1"; until test -S "$2"; do :; done; SSH_AUTH_SOCK=$2 SSH_ASKPASS=$1 SSH_ASKPASS_REQUIRE=force exec ssh-add -q "$3"`, "-", ask, socket, key)
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return socket
}

// A private key that others may read is not used, and the error says what to do.
func TestOpenKeyIsRefused(t *testing.T) {
	s := serving(t)
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		if err := os.Chmod(s.KeyFile, mode); err != nil {
			t.Fatal(err)
		}
		o := options(s)
		want := fmt.Sprintf("mode %04o lets others at it: chmod 600 %s", mode, s.KeyFile)
		if err := try(t, o, s.Addr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("named in credentials: %v", err)
		}
		o.Credentials, o.Config = nobody, filepath.Join(t.TempDir(), "config")
		write(t, o.Config, "Host *\n  IdentityFile "+s.KeyFile+"\n")
		if err := try(t, o, s.User+"@"+s.Addr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("named in the configuration: %v", err)
		}
	}
	if err := os.Chmod(s.KeyFile, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := try(t, options(s), s.Addr); err != nil {
		t.Errorf("of mode 0400: %v", err)
	}
}
