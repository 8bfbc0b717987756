// Package nginx starts a private nginx for tests: its own prefix,
// configuration, port and process, stopped when the test ends.
package nginx

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Require is the environment variable under which a missing nginx fails a test
// that would otherwise be skipped.
const Require = "SRPUMP_REQUIRE"

// Start serves the files of dir and returns the URL of it, without a slash at
// its end. The test is skipped when nginx is not installed.
func Start(t testing.TB, dir string) (baseURL string) {
	t.Helper()
	return start(t, dir, "off")
}

// StartListing is Start of a server that lists directories.
func StartListing(t testing.TB, dir string) (baseURL string) {
	t.Helper()
	return start(t, dir, "on")
}

// A TLS is what a server of HTTPS shows and wants: PEM files.
type TLS struct {
	Cert, Key string
	ClientCA  string // clients must show a certificate of this authority; empty: none need
}

// StartTLS is Start of a server of HTTPS, which has no other name than 127.0.0.1.
func StartTLS(t testing.TB, dir string, files TLS) (baseURL string) {
	t.Helper()
	lines := fmt.Sprintf("ssl_certificate %s; ssl_certificate_key %s;", files.Cert, files.Key)
	if files.ClientCA != "" {
		lines += fmt.Sprintf(" ssl_client_certificate %s; ssl_verify_client on;", files.ClientCA)
	}
	return "https" + strings.TrimPrefix(start(t, dir, "off", " ssl", lines), "http")
}

func start(t testing.TB, dir, autoindex string, more ...string) string {
	t.Helper()
	bin := find(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()

	prefix := t.TempDir()
	config := filepath.Join(prefix, "nginx.conf")
	if err := os.WriteFile(config, configuration(prefix, dir, addr, autoindex, append(more, "", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "-p", prefix, "-c", config, "-e", filepath.Join(prefix, "error.log"))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { _ = cmd.Wait(); close(gone) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-gone
	})
	await(t, addr, gone, prefix)
	return "http://" + addr
}

func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if bin, err := exec.LookPath(name); err == nil {
			return bin
		}
	}
	if os.Getenv(Require) == "1" {
		t.Fatal("nginx is not installed (package nginx-light)")
	}
	t.Skip("nginx is not installed (package nginx-light)")
	return ""
}

// await returns when the server accepts connections.
func await(t testing.TB, addr string, gone <-chan struct{}, prefix string) {
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
			log, _ := os.ReadFile(filepath.Join(prefix, "error.log"))
			t.Fatalf("nginx ended: %s", log)
		case <-limit:
			t.Fatal("nginx does not answer")
		}
	}
}

// configuration runs in the foreground; as root the worker stays root, so that
// it can read the test's private directory.
func configuration(prefix, dir, addr, autoindex string, more []string) []byte {
	user := ""
	if os.Getuid() == 0 {
		user = "user root;\n"
	}
	return fmt.Appendf(nil, `%sdaemon off;
worker_processes 1;
pid %s/pid;
error_log %s/error.log;
events { worker_connections 512; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 100000;
	client_body_temp_path %s/tmp;
	proxy_temp_path %s/tmp;
	fastcgi_temp_path %s/tmp;
	uwsgi_temp_path %s/tmp;
	scgi_temp_path %s/tmp;
	default_type application/octet-stream;
	autoindex %s;
	server { listen %s%s; root %q; %s }
}
`, user, prefix, prefix, prefix, prefix, prefix, prefix, prefix, autoindex, addr, more[0], dir, more[1])
}
