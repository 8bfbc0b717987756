package sftp

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// identity is how we prove who we are to one host.
type identity struct {
	o    *Options
	host host

	agent  net.Conn
	locked []string // key files that need a passphrase and are in no agent
	open   []string // why key files were not used that others may read
	keys   int      // offered
}

func (i *identity) close() {
	if i.agent != nil {
		i.agent.Close()
	}
}

// methods are keys first, then the password, in both ways servers ask for it.
func (i *identity) methods() []ssh.AuthMethod {
	methods := []ssh.AuthMethod{ssh.PublicKeysCallback(i.signers)}
	if i.host.password != "" {
		methods = append(methods, ssh.Password(i.host.password), ssh.KeyboardInteractive(i.answer))
	}
	return methods
}

// answer gives the password where one hidden answer is asked for, and nothing to other questions.
func (i *identity) answer(_, _ string, questions []string, echo []bool) ([]string, error) {
	answers := make([]string, len(questions))
	for n := range questions {
		if echo[n] || len(questions) > 1 {
			return nil, &setupError{fmt.Errorf("the server asks %q for more than a password", i.host.user)}
		}
		answers[n] = i.host.password
	}
	return answers, nil
}

// signers are the keys to offer: those of files first, then the agent's.
func (i *identity) signers() (signers []ssh.Signer, err error) {
	held := i.held()
	for _, path := range i.host.keyFiles {
		s, err := i.load(path, held)
		if err != nil && i.host.onlyKeys {
			return nil, &setupError{err}
		}
		if s != nil {
			signers = append(signers, s)
		}
	}
	if !i.host.onlyKeys {
		for _, s := range held {
			if find(signers, s.PublicKey()) == nil {
				signers = append(signers, s)
			}
		}
	}
	i.keys = len(signers)
	return signers, nil
}

// held are the keys of the agent; one that cannot be asked has none.
func (i *identity) held() []ssh.Signer {
	if i.o.Agent == "" {
		return nil
	}
	conn, err := net.Dial("unix", i.o.Agent)
	if err != nil {
		return nil
	}
	i.agent = conn
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		return nil
	}
	return signers
}

// load reads a private key; one with a passphrase is the agent's to use.
func (i *identity) load(path string, held []ssh.Signer) (ssh.Signer, error) {
	if err := guarded(path); err != nil {
		i.open = append(i.open, err.Error())
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the private key: %w", err)
	}
	s, err := ssh.ParsePrivateKey(data)
	var locked *ssh.PassphraseMissingError
	switch {
	case err == nil:
		return s, nil
	case !errors.As(err, &locked):
		return nil, fmt.Errorf("cannot use the private key %q: %w", path, err)
	}
	if s := find(held, publicHalf(path, locked)); s != nil {
		return s, nil
	}
	i.locked = append(i.locked, path)
	return nil, fmt.Errorf("the private key %q has a passphrase and is in no agent: ssh-add it, or name one without", path)
}

// guarded refuses a private key of ours that others may read or replace, as ssh(1) does.
func guarded(path string) error {
	fi, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot read the private key: %w", err)
	}
	st, known := fi.Sys().(*syscall.Stat_t)
	if mode := fi.Mode().Perm(); known && int(st.Uid) == os.Getuid() && mode&0o077 != 0 {
		return fmt.Errorf("cannot use the private key %q: its mode %04o lets others at it: chmod 600 %s", path, mode, path)
	}
	return nil
}

// publicHalf is the public key of a locked private one: its own words or the file beside it.
func publicHalf(path string, locked *ssh.PassphraseMissingError) ssh.PublicKey {
	if locked.PublicKey != nil {
		return locked.PublicKey
	}
	data, err := os.ReadFile(path + ".pub")
	if err != nil {
		return nil
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(data)
	if err != nil {
		return nil
	}
	return key
}

func find(signers []ssh.Signer, key ssh.PublicKey) ssh.Signer {
	if key == nil {
		return nil
	}
	for _, s := range signers {
		if bytes.Equal(s.PublicKey().Marshal(), key.Marshal()) {
			return s
		}
	}
	return nil
}

// tried says what did not help.
func (i *identity) tried() string {
	text := fmt.Sprintf(": %d keys were offered", i.keys)
	if i.keys == 1 {
		text = ": 1 key was offered"
	}
	if i.host.password != "" {
		text += " and a password"
	}
	for _, why := range i.open {
		text += "; " + why
	}
	if len(i.locked) > 0 {
		text += "; in no agent, and locked by a passphrase: " + strings.Join(i.locked, ", ")
	}
	return text
}
