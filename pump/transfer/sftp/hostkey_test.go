package sftp_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh/knownhosts"

	"srpump/pump/transfer"
	"srpump/pump/transfer/sftp"
	"srpump/test/openssh"
)

// try gets the file "file" of a server.
func try(t *testing.T, o sftp.Options, addr string) error {
	t.Helper()
	s := sftp.New(o)
	t.Cleanup(func() { s.Close() })
	body, err := s.Get(t.Context(), transfer.Whole("sftp://"+addr+"/~/file"))
	if err == nil {
		body.Close()
	}
	return err
}

// serving is a server that has the file.
func serving(t *testing.T) *openssh.Server {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "hello")
	return openssh.Start(t, dir)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// forbidden holds a failure to be one an operator must see to, that says all of the words.
func forbidden(t *testing.T, err error, words ...string) {
	t.Helper()
	if transfer.ClassOf(err) != transfer.Forbidden {
		t.Fatalf("got %v of class %v", err, transfer.ClassOf(err))
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v: says nothing of %q", err, w)
		}
	}
}

// The line the error shows, added to the file it names, lets the next try pass.
func TestUnknownHostShowsTheLineToAdd(t *testing.T) {
	s := serving(t)
	o := options(s)
	o.KnownHosts = []string{filepath.Join(t.TempDir(), "known_hosts"), "/nonexistent/too"}
	err := try(t, o, s.Addr)
	forbidden(t, err, "not known", "SHA256:", o.KnownHosts[0])
	var hk *sftp.HostKeyError
	if !errors.As(err, &hk) || hk.Changed || hk.Host != s.Addr {
		t.Errorf("got %+v", hk)
	}
	_, line, _ := strings.Cut(err.Error(), "the line: ")
	write(t, o.KnownHosts[0], line+"\n")
	if err := try(t, o, s.Addr); err != nil {
		t.Error(err)
	}
}

func TestChangedHostKeyIsRefused(t *testing.T) {
	s := serving(t)
	if err := try(t, options(s), s.Addr); err != nil {
		t.Fatal(err)
	}
	s.ChangeHostKey(t)
	err := try(t, options(s), s.Addr)
	forbidden(t, err, "has changed", s.KnownHosts+":1", fmt.Sprintf("ssh-keygen -f %q -R %q", s.KnownHosts, knownhosts.Normalize(s.Addr)))
	var hk *sftp.HostKeyError
	if !errors.As(err, &hk) || !hk.Changed {
		t.Errorf("got %+v", hk)
	}
}

// A connection that is there goes on with the key it was made with; the one after it does not.
func TestHostKeyChangesUnderAConnection(t *testing.T) {
	s := serving(t)
	g := sftp.New(options(s))
	t.Cleanup(func() { g.Close() })
	url := "sftp://" + s.Addr + "/~/file"
	if _, err := g.Stat(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	s.ChangeHostKey(t)
	_, err := g.Stat(t.Context(), url)
	forbidden(t, err, "has changed")
}

func TestRevokedKey(t *testing.T) {
	s := serving(t)
	text, err := os.ReadFile(s.KnownHosts)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.KnownHosts, "@revoked "+string(text))
	forbidden(t, try(t, options(s), s.Addr), "revoked", s.KnownHosts+":1")
}

func TestHashedHostNames(t *testing.T) {
	s := serving(t)
	text, err := os.ReadFile(s.KnownHosts)
	if err != nil {
		t.Fatal(err)
	}
	name, key, _ := strings.Cut(string(text), " ")
	write(t, s.KnownHosts, "# a comment\n\n"+knownhosts.HashHostname(name)+" "+key)
	if err := try(t, options(s), s.Addr); err != nil {
		t.Error(err)
	}
}

// A host may show a certificate of an authority that is known, though its own key is not.
func TestCertificateAuthority(t *testing.T) {
	s := serving(t)
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca")
	keygen(t, "-q", "-t", "ed25519", "-N", "", "-f", ca)
	s.Certify(t, ca)
	public, err := os.ReadFile(ca + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(s.Addr)
	write(t, s.KnownHosts, "@cert-authority ["+host+"]:"+port+" "+string(public))
	if err := try(t, options(s), s.Addr); err != nil {
		t.Error(err)
	}
	keygen(t, "-q", "-t", "ed25519", "-N", "", "-f", ca+"2")
	if public, err = os.ReadFile(ca + "2.pub"); err != nil {
		t.Fatal(err)
	}
	write(t, s.KnownHosts, "@cert-authority ["+host+"]:"+port+" "+string(public))
	forbidden(t, try(t, options(s), s.Addr), "not accepted")
}

func keygen(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ssh-keygen", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// StrictHostKeyChecking no is not followed, and that is said.
func TestCheckingCannotBeTurnedOff(t *testing.T) {
	s := serving(t)
	o := options(s)
	o.KnownHosts = []string{filepath.Join(t.TempDir(), "none")}
	o.Config = filepath.Join(t.TempDir(), "config")
	write(t, o.Config, "Host *\n  StrictHostKeyChecking no\n")
	forbidden(t, try(t, o, s.Addr), "not known", "StrictHostKeyChecking")
}

func TestBrokenKnownHosts(t *testing.T) {
	s := serving(t)
	write(t, s.KnownHosts, "[127.0.0.1]:22 ssh-ed25519 nonsense\n")
	forbidden(t, try(t, options(s), s.Addr), s.KnownHosts+":1")
}
