// Package vsftpd starts a private vsftpd for tests: its own configuration,
// port and process, stopped when the test ends. It runs as whoever runs the
// test and knows the users anonymous and ftp only, so that no account of the
// host and no PAM is needed; passwords can be asked of them all the same.
package vsftpd

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Require is the environment variable under which a missing vsftpd fails a test
// that would otherwise be skipped.
const Require = "SRPUMP_REQUIRE"

// Options are what a test wants of the server. The zero value is a server anybody may write to, in clear.
type Options struct {
	Password  string // of the user ftp; empty: any will do
	Cert, Key string // PEM files; with them TLS is offered, and sessions must be resumed for data
	OnlyTLS   bool   // and nothing is served in clear
	Implicit  string // TLS from the first byte, at this host:port
	ReadOnly  bool
	Active    bool // passive mode is not served
}

// Start serves the files of dir, which is the login directory, and returns host:port. The test is skipped when
// vsftpd is not installed.
func Start(t testing.TB, dir string, o Options) (addr string) {
	t.Helper()
	bin := find(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = ln.Addr().String()
	ln.Close()
	if o.Implicit != "" {
		addr = o.Implicit
	}

	private := t.TempDir()
	if err := os.WriteFile(filepath.Join(private, "passwords"), []byte(o.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(private, "vsftpd.conf")
	if err := os.WriteFile(config, o.configuration(private, dir, addr), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, config)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { _ = cmd.Wait(); close(gone) }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // with the process of each connection
		<-gone
	})
	await(t, addr, gone)
	return addr
}

func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"vsftpd", "/usr/sbin/vsftpd"} {
		if bin, err := exec.LookPath(name); err == nil {
			return bin
		}
	}
	if os.Getenv(Require) == "1" {
		t.Fatal("vsftpd is not installed (package vsftpd)")
	}
	t.Skip("vsftpd is not installed (package vsftpd)")
	return ""
}

// await returns when the server accepts connections.
func await(t testing.TB, addr string, gone <-chan struct{}) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(10 * time.Second)
	for {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return
		}
		select {
		case <-tick.C:
		case <-gone:
			t.Fatal("vsftpd ended at once")
		case <-limit:
			t.Fatal("vsftpd does not answer")
		}
	}
}

// configuration leaves out all that needs root: other users, chroot, name spaces and the system call filter.
func (o Options) configuration(private, dir, addr string) []byte {
	host, port, _ := net.SplitHostPort(addr)
	b := fmt.Appendf(nil, `listen=YES
listen_address=%s
listen_port=%s
background=NO
run_as_launching_user=YES
seccomp_sandbox=NO
isolate=NO
isolate_network=NO
xferlog_enable=NO
anonymous_enable=YES
anon_root=%s
anon_world_readable_only=NO
anon_umask=022
delay_failed_login=0
pasv_address=%s
pasv_enable=%s
utf8_filesystem=YES
`, host, port, dir, host, yes(!o.Active))
	if !o.ReadOnly {
		b = append(b, "write_enable=YES\nanon_upload_enable=YES\nanon_mkdir_write_enable=YES\nanon_other_write_enable=YES\n"...)
	}
	if o.Password != "" {
		b = fmt.Appendf(b, "secure_email_list_enable=YES\nemail_password_file=%s/passwords\n", private)
	}
	if o.Cert != "" {
		b = fmt.Appendf(b, "ssl_enable=YES\nallow_anon_ssl=YES\nrsa_cert_file=%s\nrsa_private_key_file=%s\nssl_tlsv1=YES\nrequire_ssl_reuse=YES\n", o.Cert, o.Key)
		b = fmt.Appendf(b, "force_anon_logins_ssl=%[1]s\nforce_anon_data_ssl=%[1]s\nimplicit_ssl=%s\n", yes(o.OnlyTLS), yes(o.Implicit != ""))
	}
	return b
}

func yes(b bool) string { return map[bool]string{true: "YES", false: "NO"}[b] }
