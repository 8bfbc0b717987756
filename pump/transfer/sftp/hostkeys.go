package sftp

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// hostKeys is what known_hosts says (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT).
type hostKeys struct {
	host  host
	files []string // those that are there
	check ssh.HostKeyCallback
}

func readKnownHosts(h host) (*hostKeys, error) {
	k := &hostKeys{host: h}
	for _, path := range h.knownHosts {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			k.files = append(k.files, path)
		}
	}
	known, err := knownhosts.New(k.files...)
	if err != nil {
		return nil, fmt.Errorf("cannot read the keys of hosts: %w", err)
	}
	k.check = func(place string, remote net.Addr, key ssh.PublicKey) error {
		return k.explain(place, key, known(place, remoteOf(remote), key))
	}
	return k, nil
}

// remoteOf is an address the library can split: that of a host behind a jump has no port.
func remoteOf(remote net.Addr) net.Addr {
	if _, _, err := net.SplitHostPort(remote.String()); err != nil {
		return &net.TCPAddr{}
	}
	return remote
}

// A HostKeyError is a server that is not, or not known to be, the one it is taken for. Nothing was
// sent to it. Its text holds what to do.
type HostKeyError struct {
	Host    string
	Changed bool // known_hosts has other keys for it, or has this one revoked
	text    string
}

func (e *HostKeyError) Error() string { return e.text }

// explain makes of what the library says an error that says what to do.
func (k *hostKeys) explain(place string, key ssh.PublicKey, err error) error {
	if err == nil {
		return nil
	}
	var unknown *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	e := &HostKeyError{Host: place}
	shown := key.Type() + " " + ssh.FingerprintSHA256(key)
	switch {
	case errors.As(err, &revoked):
		e.Changed = true
		e.text = fmt.Sprintf("the key of host %q, %s, is revoked by %s:%d", place, shown, revoked.Revoked.Filename, revoked.Revoked.Line)
	case errors.As(err, &unknown) && len(unknown.Want) > 0:
		e.Changed = true
		w := unknown.Want[0]
		e.text = fmt.Sprintf("the key of host %q has changed: it is %s, and %s:%d has %s %s; somebody may be listening, or the host was set up anew; if its administrator confirms the new key, remove the old one with: ssh-keygen -f %q -R %q",
			place, shown, w.Filename, w.Line, w.Key.Type(), ssh.FingerprintSHA256(w.Key), w.Filename, knownhosts.Normalize(place))
	case errors.As(err, &unknown):
		e.text = fmt.Sprintf("the key of host %q is not known; if it is %s, add to %s the line: %s%s",
			place, shown, k.host.knownHosts[0], knownhosts.Line([]string{place}, key), k.unchecked())
	default:
		e.text = fmt.Sprintf("the key of host %q is not accepted: %v", place, err)
	}
	return &setupError{e}
}

func (k *hostKeys) unchecked() string {
	if k.host.unchecked {
		return " (StrictHostKeyChecking of the configuration of ssh is not followed: keys are always checked)"
	}
	return ""
}

// algorithms are those by which a host can show a key that is known of it; nil, which is all, for a
// host of which none is.
func (k *hostKeys) algorithms(place string, remote net.Addr) (algorithms []string) {
	known, err := knownhosts.New(k.files...)
	if err != nil {
		return nil // check says so
	}
	var want *knownhosts.KeyError
	if !errors.As(known(place, remoteOf(remote), noKey{}), &want) {
		return nil
	}
	for _, w := range want.Want {
		kinds := signedBy(w.Key.Type())
		cert := &ssh.Certificate{CertType: ssh.HostCert, Key: noKey{}, SignatureKey: w.Key}
		if err := known(place, remoteOf(remote), cert); err != nil && !strings.Contains(err.Error(), "no authorities") {
			kinds = certificates() // it is not a key of the host, but of who signs them
		}
		algorithms = append(algorithms, kinds...)
	}
	return algorithms
}

// signedBy are the signatures a kind of key makes; ssh-rsa alone, with SHA-1, is not one of them.
func signedBy(kind string) []string {
	if kind == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{kind}
}

func certificates() []string {
	return []string{ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01,
		ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01}
}

// noKey is no host's.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return []byte("none") }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }
