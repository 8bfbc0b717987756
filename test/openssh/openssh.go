// Package openssh starts a private sshd for tests: its own host key, client
// key, configuration, port and process, stopped when the test ends.
package openssh

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Require is the environment variable under which a missing sshd fails a test
// that would otherwise be skipped.
const Require = "SRPUMP_REQUIRE"

// A Server is a running sshd that gives SFTP and nothing else.
type Server struct {
	Addr       string // host:port
	User       string // who may log in: the user who runs the test
	KeyFile    string // the private key that lets them in
	KnownHosts string // a known_hosts with the key of the host
	Log        string // what sshd says

	prefix string
	cmd    *exec.Cmd
	gone   chan struct{}
}

// Start serves dir, which is where a login begins: a relative path is below
// it, an absolute one anywhere. The test is skipped when sshd is not installed.
func Start(t testing.TB, dir string) *Server {
	t.Helper()
	bin := find(t)
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	prefix := t.TempDir()
	s := &Server{
		Addr: ln.Addr().String(), User: who.Username, prefix: prefix,
		KeyFile: filepath.Join(prefix, "id"), KnownHosts: filepath.Join(prefix, "known_hosts"), Log: filepath.Join(prefix, "log"),
	}
	must(t, newKey(s.KeyFile))
	must(t, newKey(s.hostKey()))
	s.Know(t, s.Addr)
	host, port, _ := net.SplitHostPort(s.Addr)
	must(t, os.WriteFile(filepath.Join(prefix, "config"), s.configuration(dir, host, port), 0o600))
	if os.Getuid() == 0 {
		must(t, os.MkdirAll("/run/sshd", 0o755)) // sshd started by root asks for it
	}
	ln.Close()
	s.run(t, bin)
	t.Cleanup(s.stop)
	return s
}

// Know adds to KnownHosts that the server is at another address too, as it is behind a relay.
func (s *Server) Know(t testing.TB, addr string) {
	t.Helper()
	public, err := os.ReadFile(s.hostKey() + ".pub")
	must(t, err)
	host, port, err := net.SplitHostPort(addr)
	must(t, err)
	file, err := os.OpenFile(s.KnownHosts, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	must(t, err)
	defer file.Close()
	_, err = fmt.Fprintf(file, "[%s]:%s %s", host, port, public)
	must(t, err)
}

// ChangeHostKey restarts the server, on the same port, with a host key that KnownHosts has not.
func (s *Server) ChangeHostKey(t testing.TB) {
	t.Helper()
	must(t, os.Remove(s.hostKey()))
	must(t, newKey(s.hostKey()))
	s.Restart(t)
}

// Certify restarts the server with its host key signed by an authority, whose private key is in a file.
func (s *Server) Certify(t testing.TB, authority string) {
	t.Helper()
	host, _, _ := net.SplitHostPort(s.Addr)
	out, err := exec.Command("ssh-keygen", "-q", "-s", authority, "-I", "test", "-h", "-n", host, s.hostKey()+".pub").CombinedOutput()
	if err != nil {
		t.Fatalf("cannot sign: %v: %s", err, out)
	}
	config := filepath.Join(s.prefix, "config")
	text, err := os.ReadFile(config)
	must(t, err)
	must(t, os.WriteFile(config, append([]byte("HostCertificate "+s.hostKey()+"-cert.pub\n"), text...), 0o600))
	s.Restart(t)
}

// Restart ends the server with all its connections and starts it again on the same port.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.stop()
	s.run(t, find(t))
}

func (s *Server) hostKey() string { return filepath.Join(s.prefix, "host_key") }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newKey makes an ed25519 key without passphrase and its public half beside it.
func newKey(path string) error {
	out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cannot make a key: %w: %s", err, out)
	}
	return nil
}

func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"sshd", "/usr/sbin/sshd"} {
		bin, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if bin, err = filepath.Abs(bin); err == nil { // sshd runs itself again and wants the whole path
			return bin
		}
	}
	if os.Getenv(Require) == "1" {
		t.Fatal("sshd is not installed (package openssh-server)")
	}
	t.Skip("sshd is not installed (package openssh-server)")
	return ""
}

// run starts sshd in a process group of its own, so that stop ends its sessions too.
func (s *Server) run(t testing.TB, bin string) {
	t.Helper()
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	must(t, err)
	defer log.Close()
	s.cmd = exec.Command(bin, "-D", "-e", "-f", filepath.Join(s.prefix, "config"))
	s.cmd.Stderr = log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	must(t, s.cmd.Start())
	gone := make(chan struct{})
	s.gone = gone
	cmd := s.cmd
	go func() { _ = cmd.Wait(); close(gone) }()
	s.await(t)
}

// stop ends the listener and the processes of its sessions.
func (s *Server) stop() {
	children := childrenOf(s.cmd.Process.Pid)
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	<-s.gone
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
}

// childrenOf reads which processes a process has started.
func childrenOf(pid int) (pids []int) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for rest := string(data); ; {
		var child, n int
		if n, _ = fmt.Sscan(rest, &child); n == 0 {
			return pids
		}
		pids = append(pids, child)
		rest = rest[len(fmt.Sprint(child))+1:]
	}
}

// await returns when the server accepts connections.
func (s *Server) await(t testing.TB) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(10 * time.Second)
	for {
		if conn, err := net.Dial("tcp", s.Addr); err == nil {
			conn.Close()
			return
		}
		select {
		case <-tick.C:
		case <-s.gone:
			log, _ := os.ReadFile(s.Log)
			t.Fatalf("sshd ended: %s", log)
		case <-limit:
			t.Fatal("sshd does not answer")
		}
	}
}

func (s *Server) configuration(dir, host, port string) []byte {
	return fmt.Appendf(nil, `ListenAddress %s
Port %s
HostKey %s
AuthorizedKeysFile %s.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 200
MaxSessions 200
LogLevel INFO
Subsystem sftp internal-sftp -d %s
`, host, port, s.hostKey(), s.KeyFile, dir)
}
